package main

func Example() {
	main()
	// Output:
	// Hello, Ada!
	// 2 chunks, made by forward
}
