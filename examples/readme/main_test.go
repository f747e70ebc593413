package main

import (
	"os"
	"strings"
	"testing"
)

func Example() {
	here, _ := os.Getwd()
	dir, _ := os.MkdirTemp("", "rath")
	defer os.RemoveAll(dir)
	_ = os.Chdir(dir) // the note goes there
	defer os.Chdir(here)
	main()
	// Output: I wrote 18 bytes to note.txt. <nil>
}

// The program in the README is this one.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(program)+"```") {
		t.Error("the README shows another program than examples/readme/main.go")
	}
}
