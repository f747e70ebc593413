package main

func Example() {
	main()
	// Output:
	// keep 0 turns: 6 chunks become 1
	//   user: They go to Faro in May for three days, by train.
	// keep 2 turns: 6 chunks become 4
	//   user: Summary of the conversation before this message: They go to Faro in May for three days, by train.
	//   assistant: Let me look.
	//   tool_result: 8:32, 14:02
	//   assistant: At 8:32 and at 14:02.
	// taken out: 3 chunks, the last: Three days. When does a train go?
	// Dark and stormy.
	//   forward: 8 chunks
	//   compress: 5 chunks
	//   forward: 11 chunks
}
