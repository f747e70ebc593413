package main

func Example() {
	main()
	// Output:
	// openai:gpt Bonjour. 11 <nil>
	// anthropic:claude Bonjour. 11 <nil>
}
