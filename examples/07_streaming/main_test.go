package main

func Example() {
	main()
	// Output:
	// One moment. [shout {"text":"hi"}][HI] It is HI.
	// 60 + 12 tokens in 2 calls of the model
}
