package main

func Example() {
	main()
	// Output:
	// Report(
	//   (Count): Agent("count", scripted:, tools: word_count, memory: memory)
	//   (Short): Compressor("compressor", scripted:, keep 0)
	// )
	// without a model:
	// Count: no model is set
	// Short: no model is set
	// The user had words counted: three. 3 calls of the model
}
