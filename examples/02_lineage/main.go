// Lineage: every session knows what it came from. Fork, merge, and look at the graph.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/graph"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

func main() {
	agent := func(name, answer string) *flow.Agent {
		return &flow.Agent{Name: name, Model: live.Or(scripted.New(
			scripted.Reply{Text: answer, Usage: &session.Usage{Input: 20, Output: 5}}))}
	}
	question := session.FromUser("A name for a tea shop?")
	out, err := (&flow.Parallel{Branches: []flow.Workflow{
		agent("bold", "Leaf & Thunder"),
		agent("calm", "The Quiet Cup"),
	}}).Forward(context.Background(), question)
	if err != nil {
		log.Fatal(err)
	}
	for i, c := range out.All() { // the shared question once, then each branch's own
		fmt.Println(i, c.Kind(), c.Text())
	}

	g := graph.Of(out)
	total := g.Totals(out.ID())
	fmt.Println(g.Len(), "sessions,", total.Usage.Total(), "tokens, each counted once")
	if err := g.WriteText(os.Stderr, nil); err != nil {
		log.Fatal(err)
	}
}
