package main

func Example() {
	main()
	// Output:
	// the dice roll
	// live:   It is a 4.
	// replay: It is a 4. true
	// another prompt diverges at dice input.prompt.digest
}
