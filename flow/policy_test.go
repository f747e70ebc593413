package flow_test

import (
	"context"
	"strings"
	"testing"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// words judges calls by a word in their arguments.
type words map[string]tool.Verdict

func (w words) Judge(_ context.Context, _ *tool.Tool, call session.Call) (tool.Judgment, error) {
	for word, v := range w {
		if strings.Contains(call.Arguments, word) {
			return tool.Judgment{Verdict: v, Reason: "it says " + word}, nil
		}
	}
	return tool.Judgment{}, nil
}

func (w words) String() string { return "words" }

// A policy judges the agent's own calls, not those of an agent that is its tool; questions
// go to the decider; and a replay goes by what was decided then.
func TestAgentPolicy(t *testing.T) {
	worker := &flow.Agent{Name: "worker", Model: scripted.Func(helper), Tools: tool.Set{upper()}}
	calls := scripted.Reply{Calls: []session.Call{
		scripted.Call("upper", `{"text":"evil"}`), scripted.Call("upper", `{"text":"good"}`), scripted.Call("upper", `{"text":"odd"}`),
		scripted.Call("worker", `{"task":"ev-il"}`),
	}}
	model := func() *scripted.Model { return scripted.New(calls, scripted.Reply{Text: "done"}) }
	a := &flow.Agent{Name: "a", Model: model(), Tools: tool.Set{upper(), flow.AsTool(worker, nil)}, Policy: words{"evil": tool.Deny, "EV": tool.Deny, "odd": tool.Ask}}
	rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
	questions := 0
	ctx := flow.WithDecider(effect.WithJournal(t.Context(), rec), func(_ context.Context, q flow.Question) (flow.Decision, error) {
		questions++
		return flow.Decision{Verdict: flow.Edit, Arguments: `{"text":"even"}`}, nil
	})
	out, err := a.Forward(ctx, session.FromUser("x"))
	if err != nil || questions != 1 {
		t.Fatalf("%d questions, %v", questions, err)
	}
	for i, want := range []string{"it says evil", "GOOD", "EVEN", "got EV-IL"} {
		if !strings.Contains(out.At(2+i).Text(), want) {
			t.Errorf("%d: %s, want %s", i, out.At(2+i).Text(), want)
		}
	}
	if out.At(2).Answer().Outcome != session.Denied {
		t.Error("it was not denied")
	}
	a.Policy, a.Model = words{"o": tool.Deny}, model()
	rec.replay, rec.seen = true, map[string]int{}
	again, err := a.Forward(flow.WithDecider(effect.WithJournal(t.Context(), rec), func(context.Context, flow.Question) (flow.Decision, error) {
		t.Error("a replay asks")
		return flow.Decision{}, nil
	}), session.FromUser("x"))
	if err != nil || again.Digest() != out.Digest() {
		t.Errorf("the replay differs: %v", err)
	}
	plain := &flow.Agent{Model: scripted.New()}
	guarded := &flow.Agent{Model: scripted.New(), Policy: words{}}
	if flow.Fingerprint(plain) == flow.Fingerprint(guarded) {
		t.Error("the fingerprint does not see the policy")
	}
}
