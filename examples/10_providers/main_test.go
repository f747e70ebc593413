package main

func Example() {
	main()
	// Output:
	// openai:gpt says Bonjour. for 11 tokens
	// anthropic:claude says Bonjour. for 11 tokens
	// attempt 1 failed: server
	// in the end: Bonjour.
}
