// A tool is a Go function: its schema comes from the struct that it takes, and what a
// model gets wrong goes back to the model.
package main

import (
	"context"
	"fmt"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

type route struct {
	From string `json:"from" jsonschema:"where the journey begins"`
	To   string `json:"to" jsonschema:"where it ends"`
	Mode string `json:"mode,omitempty" jsonschema:"walk or bike; walk if omitted"`
}

type journey struct {
	Minutes int    `json:"minutes"`
	Mode    string `json:"mode"`
}

func plan(_ context.Context, in route) (journey, error) {
	switch in.Mode {
	case "", "walk":
		return journey{40, "walk"}, nil
	case "bike":
		return journey{12, "bike"}, nil
	}
	return journey{}, fmt.Errorf("there is no mode %q", in.Mode)
}

func main() {
	planner := tool.New("plan_route", "Plan a journey.", plan)
	planner.Class = effect.ReadOnly // it changes nothing: calls may run in parallel

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
	for _, c := range out.All() {
		if c.Kind() == session.KindToolResult {
			fmt.Println(c.Answer().Outcome, c.Text())
		}
	}
	fmt.Println(out.Text(), err)
}
