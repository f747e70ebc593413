// Streaming: [flow.Events] runs a workflow and yields what happens in it, as it happens, to a
// plain loop: pieces of text, calls, results, the end. They are what forward hooks are in
// PyTorch, for agents however deep. The session is there afterwards all the same.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// shout is a tool, so that more than text happens.
func shout() *tool.Tool {
	return tool.New("shout", "Put a text into capitals.", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return strings.ToUpper(in.Text), nil
	})
}

// What each reply cost is its session's usage, and Total adds up what a session and all that it
// comes from have cost. Leaving the loop early would cancel the run.
func main() {
	model := scripted.New(
		scripted.Reply{Text: "One moment. ", Calls: []session.Call{scripted.Call("shout", `{"text":"hi"}`)}, Usage: &session.Usage{Input: 20, Output: 8}},
		scripted.Reply{Text: "It is HI.", Usage: &session.Usage{Input: 40, Output: 4}},
	)
	agent := &flow.Agent{Model: live.Or(model), Tools: tool.Set{shout()}}
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
				if err != nil {
					log.Fatal(err)
				}
				u := e.Session.Total()
				fmt.Printf("\n%d + %d tokens in %d calls of the model\n", u.Input, u.Output, u.Calls)
			}
		}
	}
}
