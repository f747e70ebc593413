package openai_test

import (
	"errors"
	"fmt"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/openai"
)

func ExampleOpen() {
	local, err := openai.Open("llama3", &openai.Options{BaseURL: "http://localhost:11434/v1"})
	fmt.Println(local, err)

	_, err = openai.Open("gpt-5.5", nil) // OpenAI itself wants a key
	var e *llm.Error
	fmt.Println(errors.As(err, &e), e.Kind)
	// Output:
	// openai:llama3 <nil>
	// true authentication
}

func ExampleOpenEmbedder() {
	local, err := openai.OpenEmbedder("nomic-embed-text", &openai.EmbedOptions{
		Options:    openai.Options{BaseURL: "http://localhost:11434/v1"},
		Dimensions: 256,
	})
	fmt.Println(local, err)
	// Output: openai:nomic-embed-text?dimensions=256 <nil>
}
