package main

func Example() {
	main()
	// Output:
	// I wrote 10 bytes to list.txt.
	// to do: tea
	// "tea" is on 1 line:
	// list.txt:1: to do: tea
	// 1 match of *.txt in .:
	// list.txt
	// 10
}
