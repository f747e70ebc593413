// Package live lets every example run without a key, and with -live against a real
// model.
package live

import (
	"cmp"
	"flag"
	"log"
	"os"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/openai"
)

var live = flag.Bool("live", false, "use a real model: OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_DEFAULT_MODEL")

// Or returns the given model, or with -live the one that the environment names.
func Or(m llm.Model) llm.Model {
	flag.Parse()
	if !*live {
		return m
	}
	real, err := openai.Open(cmp.Or(os.Getenv("OPENAI_DEFAULT_MODEL"), "gpt-5.5"), &openai.Options{
		APIKey: os.Getenv("OPENAI_API_KEY"), BaseURL: os.Getenv("OPENAI_BASE_URL"),
	})
	if err != nil {
		log.Fatal(err)
	}
	return &llm.Retry{Model: real}
}
