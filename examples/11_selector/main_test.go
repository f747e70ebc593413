package main

func Example() {
	main()
	// Output:
	// somebody is woken up
	// tech (First the fault.): Restart the router, then it works.
	// billing (Then the money.): I have refunded the second payment.
	// wrapup (Both are solved.): Thank you, good-bye!
	// done: Nothing is left.
	// 4 chunks, 7 calls of models
	// nobody is for that: We have no gardener.
	// route: A colleague will call you.
}
