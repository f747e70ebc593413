package main

func Example() {
	main()
	// Output:
	// 0 user A name for a tea shop?
	// 1 assistant Leaf & Thunder
	// 2 assistant The Quiet Cup
	// 6 sessions, 50 tokens, each counted once
}
