package main

import (
	"os"
	"slices"
	"testing"
)

// TestMain is the server when the example starts this program once more.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-serve") {
		main()
		return
	}
	m.Run()
}

func Example() {
	main()
	// Output:
	// weather__forecast read_only Tell the weather of tomorrow.
	// ok {"celsius":24,"sky":"clear"}
	// failed there is no forecast for "Atlantis"
	// Lisbon will be clear at 24 degrees. Nobody knows about Atlantis.
}
