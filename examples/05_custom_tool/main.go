// Your own tools: a tool is a Go function with a name, as a Function is in PyTorch. What the
// model is told of it, the schema, comes from the struct that it takes, so that the two cannot
// differ.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// The tags name the arguments and describe them. One with omitempty may be left out.
type route struct {
	From string `json:"from" jsonschema:"where the journey begins"`
	To   string `json:"to" jsonschema:"where it ends"`
	Mode string `json:"mode,omitempty" jsonschema:"walk or bike; walk if omitted"`
}

type journey struct {
	Minutes int    `json:"minutes"`
	Mode    string `json:"mode"`
}

// An error is no end: it goes back to the model, which may do better. So do arguments that do
// not fit the schema, and the function is not called with them.
func plan(_ context.Context, in route) (journey, error) {
	switch in.Mode {
	case "", "walk":
		return journey{40, "walk"}, nil
	case "bike":
		return journey{12, "bike"}, nil
	}
	return journey{}, fmt.Errorf("there is no mode %q", in.Mode)
}

// A tool that changes nothing says so, and its calls may run in parallel. The results come in
// the order of the calls all the same.
func main() {
	planner := tool.New("plan_route", "Plan a journey.", plan)
	planner.Class = effect.ReadOnly

	model := scripted.New(
		scripted.Reply{Calls: []session.Call{
			scripted.Call("plan_route", `{"from":"home","to":"work","mode":"bike"}`),
			scripted.Call("plan_route", `{"from":"home","to":"work","mode":"rocket"}`),
			scripted.Call("plan_route", `{"from":"home"}`),
		}},
		scripted.Reply{Text: "Take the bike: 12 minutes."},
	)
	agent := &flow.Agent{Model: live.Or(model), Tools: tool.Set{planner}}
	out, err := agent.Forward(context.Background(), session.FromUser("How do I get from home to work?"))
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range out.All() {
		if c.Kind() == session.KindToolResult {
			fmt.Println(c.Answer().Outcome, c.Text())
		}
	}
	fmt.Println(out.Text())
}
