// The smallest program: an agent is called on a session and gives a session.
package main

import (
	"context"
	"fmt"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

func main() {
	agent := &flow.Agent{
		Prompt: "You greet people in one short sentence.",
		Model:  live.Or(scripted.New(scripted.Reply{Text: "Hello, Ada!"})),
	}
	out, err := agent.Forward(context.Background(), session.FromUser("I am Ada."))
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(out.Text())
	fmt.Println(out.Len(), "chunks, made by", out.Lineage().Op)
}
