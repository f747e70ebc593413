package main

import (
	"os"
	"slices"
	"testing"
)

// TestMain is the program that dies, when the example starts this one once more.
func TestMain(m *testing.M) {
	if i := slices.Index(os.Args, "-store"); i > 0 {
		os.Args = slices.Concat(os.Args[:1], os.Args[i:]) // without the flags of tests
		main()
		return
	}
	m.Run()
}

func Example() {
	main()
	// Output:
	// posting letter 1
	// posting letter 2
	// the program is gone: exit status 1
	// going on with the run
	// posting letter 3
	// posting letter 4
	// posting letter 5
	// All five letters are posted.
}
