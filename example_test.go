package rath_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

func Example() {
	count := tool.New("word_count", "Count words.", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (int, error) {
		return len(strings.Fields(in.Text)), nil
	})
	agent := &flow.Agent{Model: offline.New(), Tools: tool.Set{count}}
	in := session.FromUser("Count the words in: Rath makes agents traceable.")
	out, err := agent.Forward(context.Background(), in)
	fmt.Println(out.Text(), err)
	for _, c := range out.All() {
		fmt.Println(c.Kind())
	}
	fmt.Println("it comes from the question:", out.Parents()[0].ID() == in.ID())
	// Output:
	// word_count says: 4 <nil>
	// user
	// assistant
	// tool_result
	// assistant
	// it comes from the question: true
}

// Packages read no environment: a program says which key is for whom.
func Example_realModel() {
	model, err := openai.Open("gpt-5.5", &openai.Options{APIKey: os.Getenv("OPENAI_API_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	agent := &flow.Agent{Prompt: "Answer in one sentence.", Model: model}
	out, err := agent.Forward(context.Background(), session.FromUser("What is an autograd graph?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Text())
}
