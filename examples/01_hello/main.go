// Hello: an agent is called on a session and gives the next session. That is the shape of
// everything here. As nn.Linear maps a tensor to a tensor and is not an application, a
// [flow.Agent] maps a [session.Session] to a session and keeps no conversation of its own.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// The model is scripted, so that no key is needed. In all of these programs live.Or gives back
// what it is given, or with -live a real model, as openai.Open opens it. What it says is shown
// piece by piece as it comes, by an observer in the context.
func main() {
	agent := &flow.Agent{
		Prompt: "You greet people in one short sentence.",
		Model:  live.Or(scripted.New(scripted.Reply{Text: "Hello, Ada!"})),
	}
	ctx := flow.Observe(context.Background(), func(e flow.Event) {
		if d, ok := e.(flow.Delta); ok {
			fmt.Print(d.Text)
		}
	})
	out, err := agent.Forward(ctx, session.FromUser("I am Ada."))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println()
	fmt.Println(out.Len(), "chunks, made by", out.Lineage().Op)
}
