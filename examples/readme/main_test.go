package main

import (
	"os"
	"strings"
	"testing"
)

func Example() {
	main()
	// Output:
	// I wrote 18 bytes to note.txt. <nil>
	// Report(
	//   (Count): Agent("count", offline:, tools: word_count)
	//   (Note): Agent("note", offline:, tools: write_workspace_file)
	// )
}

// The program in the README is this one, and the line for a real model is one that compiles.
func TestREADME(t *testing.T) {
	readme := read(t, "../../README.md")
	if !strings.Contains(readme, "```go\n"+read(t, "main.go")+"```") {
		t.Error("the README shows another program than examples/readme/main.go")
	}
	const open = `model, err := openai.Open("gpt-5.5", &openai.Options{APIKey: os.Getenv("OPENAI_API_KEY")})` + "\n"
	if !strings.Contains(readme, open) || !strings.Contains(read(t, "../../example_test.go"), open) {
		t.Errorf("it is not in the README or not in example_test.go: %s", open)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
