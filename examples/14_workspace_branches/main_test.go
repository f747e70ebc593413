package main

func Example() {
	main()
	// Output:
	// conflict in menu.txt with branch 2; the workspace is as it was:
	// Tea        3
	// Coffee     3
	// Cocoa      4
	// Cake       5
	// Open from 9 to 5
	// resolved, merged:
	// Green tea  4
	// Coffee     3
	// Cocoa      4
	// Cake       5
	// Open from 8 to 6
	// in all: modified menu.txt (+2 -2)
}
