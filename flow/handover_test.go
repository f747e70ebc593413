package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// hands is a model that hands over to each in turn, or answers.
func hands(name string, to ...string) *scripted.Model {
	var n atomic.Int64
	return scripted.Func(func(*llm.Request) scripted.Reply {
		i := int(n.Add(1)) - 1
		if i >= len(to) {
			return scripted.Reply{Text: "answer of " + name}
		}
		var calls []session.Call
		for _, x := range strings.Fields(to[i]) {
			calls = append(calls, scripted.Call("transfer_to_"+x, `{}`))
		}
		return scripted.Reply{Calls: calls}
	})
}

func team(models map[string]*scripted.Model) *flow.Team {
	names := []string{"desk", "tech", "sales"}
	t := &flow.Team{Name: "shop"}
	for _, name := range names {
		t.Agents = append(t.Agents, &flow.Agent{Name: name, Prompt: name, Model: models[name]})
	}
	for i, a := range t.Agents {
		others := slices.Delete(slices.Clone(t.Agents), i, i+1)
		a.Tools = flow.Handover(others...)
	}
	return t
}

func TestTeam(t *testing.T) {
	for name, test := range map[string]struct {
		desk, tech, sales []string
		want              string
		paths             []string
		results           []session.Outcome
	}{
		"none":   {nil, nil, nil, "answer of desk", []string{"shop/desk"}, nil},
		"once":   {[]string{"tech"}, nil, nil, "answer of tech", []string{"shop/desk", "shop/tech"}, []session.Outcome{session.OK}},
		"back":   {[]string{"tech"}, []string{"desk"}, nil, "answer of desk", []string{"shop/desk", "shop/tech", "shop/desk"}, []session.Outcome{session.OK, session.OK}},
		"two":    {[]string{"sales tech"}, nil, nil, "answer of sales", []string{"shop/desk", "shop/sales"}, []session.Outcome{session.OK, session.Failed}},
		"nobody": {[]string{"nobody"}, nil, nil, "answer of desk", []string{"shop/desk"}, []session.Outcome{session.Failed}},
	} {
		t.Run(name, func(t *testing.T) {
			models := map[string]*scripted.Model{"desk": hands("desk", test.desk...), "tech": hands("tech", test.tech...), "sales": hands("sales", test.sales...)}
			w := team(models)
			rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
			out, err := w.Forward(effect.WithJournal(t.Context(), rec), session.FromUser("x"))
			if err != nil || out.Text() != test.want {
				t.Fatalf("%q, %v", out.Text(), err)
			}
			var paths []string
			for s := out; s.Lineage().Op == session.OpForward; s = s.Parents()[0] {
				paths = append([]string{s.Lineage().Path}, paths...)
				if final := extraOf(s, "loop.final"); (s.ID() != out.ID()) != strings.HasPrefix(final, "transfer_to_") {
					t.Errorf("%s: %q", s.Lineage().Path, final)
				}
			}
			var results []session.Outcome
			for _, c := range out.All() {
				if c.Kind() == session.KindToolResult {
					results = append(results, c.Answer().Outcome)
				}
			}
			if diff := cmp.Diff(test.paths, paths) + cmp.Diff(test.results, results); diff != "" {
				t.Error(diff)
			}
			rec.replay, rec.seen = true, map[string]int{}
			if again, err := w.Forward(effect.WithJournal(t.Context(), rec), session.FromUser("x")); err != nil || again.ID() != out.ID() || again.Digest() != out.Digest() {
				t.Errorf("the replay differs: %v", err)
			}
		})
	}
}

// The next message goes to whom the conversation was handed over to.
func TestTeamGoesOn(t *testing.T) {
	w := team(map[string]*scripted.Model{"desk": hands("desk", "tech"), "tech": hands("tech"), "sales": hands("sales")})
	out, err := w.Forward(t.Context(), session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	out, err = w.Forward(t.Context(), out.Append(session.User(session.Text("and?"))))
	if err != nil || out.Lineage().Path != "shop/tech" || out.Text() != "answer of tech" {
		t.Errorf("%+v, %v", out.Lineage(), err)
	}
}

func TestTeamEnds(t *testing.T) {
	ever := func(to string) *scripted.Model {
		return scripted.Func(func(*llm.Request) scripted.Reply {
			return scripted.Reply{Calls: []session.Call{scripted.Call("transfer_to_"+to, `{"reason":"not mine"}`)}}
		})
	}
	w := team(map[string]*scripted.Model{"desk": ever("tech"), "tech": ever("desk"), "sales": ever("desk")})
	w.MaxHandovers = 3
	out, err := w.Forward(t.Context(), session.FromUser("x"))
	var at *flow.Error
	if !errors.Is(err, flow.ErrMaxHandovers) || !errors.As(err, &at) || at.Path != "shop" || out.Len() != 1+4*2 || len(out.Transcript().OpenCalls()) > 0 {
		t.Errorf("%d chunks, %#v", out.Len(), err)
	}
}

func TestTeamCheck(t *testing.T) {
	m := scripted.New()
	stranger := &flow.Agent{Name: "stranger", Model: m}
	a := &flow.Agent{Name: "a", Model: m, Tools: flow.Handover(stranger)}
	for _, test := range []struct {
		team *flow.Team
		want string
	}{
		{&flow.Team{}, "no agent"},
		{&flow.Team{Agents: []*flow.Agent{a}}, "who is not in the team"},
		{&flow.Team{Agents: []*flow.Agent{stranger, {Name: "stranger", Model: m}}}, "two agents with the name"},
		{&flow.Team{Agents: []*flow.Agent{nil}}, "agent 0"},
		{&flow.Team{Agents: []*flow.Agent{stranger}, MaxHandovers: -1}, "MaxHandovers"},
		{&flow.Team{Agents: []*flow.Agent{{}}}, "no model"},
	} {
		if err := flow.Check(test.team); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	whole := team(map[string]*scripted.Model{"desk": m, "tech": m, "sales": m})
	if err := flow.Check(whole); err != nil {
		t.Error(err)
	}
	before := flow.Fingerprint(whole)
	whole.MaxHandovers = 2
	if flow.Fingerprint(whole) == before {
		t.Error("the fingerprint does not see MaxHandovers")
	}
}

func ExampleTeam() {
	desk := &flow.Agent{Name: "desk", Model: scripted.New(scripted.Reply{Calls: []session.Call{scripted.Call("transfer_to_billing", `{"reason":"an invoice"}`)}})}
	billing := &flow.Agent{Name: "billing", Description: "Invoices and refunds.", Model: scripted.New(scripted.Reply{Text: "You get it back."})}
	desk.Tools = flow.Handover(billing)
	billing.Tools = flow.Handover(desk)
	out, err := (&flow.Team{Agents: []*flow.Agent{desk, billing}}).Forward(context.Background(), session.FromUser("I paid twice."))
	fmt.Println(out.At(2).Text(), out.Text(), err)
	// Output: The conversation goes on with billing. You get it back. <nil>
}
