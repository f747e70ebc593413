package main

func Example() {
	main()
	// Output:
	// level: host
	// notes.txt has 3 words. <nil>
	// That did not work: resolve ../../etc/passwd: the path leaves the workspace (only paths inside the workspace can be reached) <nil>
	// refused: true
}
