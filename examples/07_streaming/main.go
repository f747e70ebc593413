// Events: what happens in a workflow, as it happens, in a plain loop.
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

func main() {
	shout := tool.New("shout", "Put a text into capitals.", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return strings.ToUpper(in.Text), nil
	})
	model := scripted.New(
		scripted.Reply{Text: "One moment. ", Calls: []session.Call{scripted.Call("shout", `{"text":"hi"}`)}, Usage: &session.Usage{Input: 20, Output: 8}},
		scripted.Reply{Text: "It is HI.", Usage: &session.Usage{Input: 40, Output: 4}},
	)
	agent := &flow.Agent{Model: live.Or(model), Tools: tool.Set{shout}}
	for e, err := range flow.Events(context.Background(), agent, session.FromUser("Shout hi.")) {
		switch e := e.(type) {
		case flow.Delta:
			fmt.Print(e.Text)
		case flow.Call:
			fmt.Printf("[%s %s]", e.Call.Name, e.Call.Arguments)
		case flow.Result:
			fmt.Printf("[%s] ", e.Chunk.Text())
		case flow.End:
			if e.Path == "" { // the workflow's own end
				fmt.Println()
				fmt.Println(e.Session.Usage().Input, "+", e.Session.Usage().Output, "tokens", err)
			}
		}
	}
}
