package flowfile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/flowfile"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// A budget of money wants a price of every model below it, and of no other.
func TestPricesOfABudget(t *testing.T) {
	prices, err := llm.ParsePrices([]byte(`{"models":{"scripted:":{"input":1,"output":2}}}`))
	if err != nil {
		t.Fatal(err)
	}
	known, unknown := scripted.New(), renamed{scripted.New(), "openai:gpt-nobody-knows"}
	money := flow.Budget{Cost: session.Cost{Nano: 1}, Prices: prices}
	for name, test := range map[string]struct {
		budget flow.Budget
		body   flow.Workflow
		refuse bool
	}{
		"known":      {money, &flow.Agent{Model: known}, false},
		"unknown":    {money, &flow.Agent{Model: unknown}, true},
		"no money":   {flow.Budget{Tokens: 1}, &flow.Agent{Model: unknown}, false},
		"deep":       {money, flow.Sequence{&flow.Agent{Model: known}, &flow.Parallel{Branches: []flow.Workflow{&flow.Agent{Model: unknown}}}}, true},
		"compressor": {money, flow.Sequence{&flow.Compressor{Model: unknown}}, true},
		"inside":     {money, &flow.Agent{Model: known, Compress: &flow.Compressor{Model: unknown}, CompressAt: 1}, true},
		"selector":   {money, &flow.Route{Selector: &flow.Selector{Model: unknown}, Choices: []flow.Workflow{&flow.Agent{Model: known}}}, true},
		"none":       {money, &flow.Route{}, false},
	} {
		err := (&flowfile.Capped{Budget: test.budget, Body: test.body}).CheckPrices()
		if test.refuse != errors.Is(err, flow.ErrNoPrice) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type renamed struct {
	llm.Model
	name string
}

func (m renamed) String() string { return m.name }

// The file's own budget and that of a workflow in it say in errors which they are.
func TestNamesOfBudgets(t *testing.T) {
	spend := map[string][]scripted.Reply{"a": texts("1"), "b": texts("2")}
	for name, text := range map[string]string{
		"f.yaml":    "budget: {calls: 1}\nagents: {a: {model: a}, b: {model: b}}\nworkflows: {s: {sequence: [a, b]}}",
		"in f.yaml": "agents: {a: {model: a}, b: {model: b}}\nworkflows: {part: {budget: {of: s, calls: 1}}, s: {sequence: [a, b]}}",
	} {
		_, err := build(t, text, &stage{replies: spend}).Forward(t.Context(), session.FromUser("x"))
		var over *flow.BudgetError
		if !errors.As(err, &over) || !strings.HasSuffix(over.Name, name) || over.Spent.Usage.Calls != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An agent whose rounds the file limits is to be given more there; the default is nobody's.
func TestHintOfRounds(t *testing.T) {
	call := scripted.Reply{Calls: []session.Call{scripted.Call("none", "{}")}}
	for text, want := range map[string]string{
		"agents: {turner: {model: a, max_steps: 1}}": "max_steps of the agent turner in f.yaml",
		"agents: {turner: {model: a}}":               "--max-steps",
	} {
		s := &stage{replies: map[string][]scripted.Reply{"a": {call, call, call, call, call}}}
		_, err := build(t, text, s).Forward(t.Context(), session.FromUser("x"))
		var h interface{ Hint() string }
		if !errors.Is(err, flow.ErrMaxSteps) || !errors.As(err, &h) || !strings.Contains(h.Hint(), want) {
			t.Errorf("%v: %v", err, h)
		}
	}
}

// The rules of an agent reach it as they are written.
func TestPolicyOfAnAgent(t *testing.T) {
	p := build(t, "agents: {a: {model: a, policy: {allow: ['x:*.go'], deny: [y], else: ask}}, b: {model: a}}\nworkflows: {s: {sequence: [a, b]}}", &stage{})
	for _, w := range flow.Inspect(p) {
		a, ok := w.(*flow.Agent)
		if !ok {
			continue
		}
		switch {
		case a.Name == "a" && a.Policy.String() != "allow x:*.go; deny y; else ask":
			t.Errorf("%v", a.Policy)
		case a.Name == "b" && a.Policy != nil:
			t.Errorf("%v", a.Policy)
		}
	}
	for _, wrong := range []string{"policy: {}", "policy: {allow: []}", "policy: {allow: ['a b']}", "policy: {else: never}", "policy: {deny: ['x.y']}"} {
		if _, err := flowfile.Parse("f.yaml", []byte("agents: {a: {"+wrong+"}}")); !strings.HasPrefix(err.Error(), "f.yaml:1:") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
