package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// verdict is a policy that says the same of every call.
type verdict struct {
	tool.Verdict
	err error
}

func (verdict) String() string { return "" }

func (v verdict) Judge(context.Context, *tool.Tool, session.Call) (tool.Judgment, error) {
	return tool.Judgment{Verdict: v.Verdict, Reason: "because"}, v.err
}

func TestPolicyInDispatch(t *testing.T) {
	yes, no, broken := tool.AllowAll, refuse, errors.New("broken")
	fails := func(context.Context, *tool.Tool, session.Call) (tool.Decision, error) { return tool.Decision{}, broken }
	for _, test := range []struct {
		name     string
		verdict  tool.Verdict
		class    effect.Class
		approval bool
		approver tool.Approver
		asker    tool.Approver
		want     session.Outcome
	}{
		{"undecided", tool.Undecided, effect.Mutating, false, nil, nil, session.OK},
		{"undecided, to be approved", tool.Undecided, effect.Mutating, true, nil, nil, session.Denied},
		{"undecided, to be approved, asked", tool.Undecided, effect.Mutating, true, nil, yes, session.OK},
		{"undecided, asked", tool.Undecided, effect.Mutating, false, no, nil, session.Denied},
		{"undecided, nobody asked about it", tool.Undecided, effect.Mutating, false, nil, no, session.OK},
		{"undecided, read only", tool.Undecided, effect.ReadOnly, false, no, nil, session.OK},
		{"allow", tool.Allow, effect.Mutating, true, no, no, session.OK},
		{"ask nobody", tool.Ask, effect.ReadOnly, false, nil, nil, session.Denied},
		{"ask, yes", tool.Ask, effect.ReadOnly, false, yes, no, session.OK},
		{"ask, no", tool.Ask, effect.ReadOnly, false, no, yes, session.Denied},
		{"ask the asker", tool.Ask, effect.ReadOnly, false, nil, yes, session.OK},
		{"deny", tool.Deny, effect.ReadOnly, false, yes, yes, session.Denied},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := tool.New("x", "", func(context.Context, struct{}) (string, error) { return "ran", nil })
			x.Class, x.Approval = test.class, test.approval
			ctx := t.Context()
			if test.approver != nil {
				ctx = tool.WithApprover(ctx, test.approver)
			}
			if test.asker != nil {
				ctx = tool.WithAsker(ctx, test.asker)
			}
			d := tool.Dispatch{Tools: tool.Set{x}, Policy: verdict{Verdict: test.verdict}}
			done, err := d.Run(ctx, session.Session{}, []session.Call{{ID: "c", Name: "x"}})
			if err != nil || done[0].Chunk.Answer().Outcome != test.want {
				t.Errorf("%v, %v", done[0].Chunk.Text(), err)
			}
		})
	}
	x := tool.New("x", "", func(context.Context, struct{}) (string, error) { return "ran", nil })
	for _, p := range []tool.Policy{verdict{err: broken}, verdict{Verdict: tool.Ask}} {
		d := tool.Dispatch{Tools: tool.Set{x}, Policy: p}
		done, err := d.Run(tool.WithApprover(t.Context(), fails), session.Session{}, []session.Call{{ID: "c", Name: "x"}})
		if !errors.Is(err, broken) || done[0].Chunk.Answer().Outcome != session.Interrupted {
			t.Errorf("%v, %v", done[0].Chunk.Text(), err)
		}
	}
}

func refuse(context.Context, *tool.Tool, session.Call) (tool.Decision, error) {
	return tool.Decision{}, nil
}

func TestVerdictText(t *testing.T) {
	for _, v := range []tool.Verdict{tool.Undecided, tool.Allow, tool.Ask, tool.Deny} {
		var back tool.Verdict
		text, _ := v.MarshalText()
		if err := back.UnmarshalText(text); err != nil || back != v {
			t.Error(v, back, err)
		}
	}
	var v tool.Verdict
	if v.UnmarshalText([]byte("maybe")) == nil || tool.Verdict(9).String() != "unknown(9)" {
		t.Error("an unknown verdict was taken")
	}
}

// A tool with a hook is the same tool in everything but what it does.
func TestToolWith(t *testing.T) {
	x := tool.New("x", "d", func(context.Context, struct{}) (string, error) { return "ran", nil })
	x.Class, x.Timeout, x.MaxOutput, x.Approval, x.Final, x.Origin = effect.Idempotent, 1, 2, true, true, "o"
	x.Locks = func(context.Context, json.RawMessage) ([]tool.Lock, error) { return nil, nil }
	y := x.With(func(run tool.Run) tool.Run {
		return func(ctx context.Context, args json.RawMessage) (tool.Result, error) {
			r, err := run(ctx, args)
			r.Failed = true
			return r, err
		}
	})
	if y.Name != "x" || y.Description != "d" || string(y.Schema) != string(x.Schema) || y.Class != x.Class || y.Timeout != 1 || y.MaxOutput != 2 || !y.Approval || !y.Final || y.Origin != "o" || y.Locks == nil {
		t.Errorf("%+v", y)
	}
	if r, err := y.Run(t.Context(), json.RawMessage(`{}`)); err != nil || !r.Failed || r.Parts[0].Text != "ran" {
		t.Error(r, err)
	}
	if r, _ := x.Run(t.Context(), json.RawMessage(`{}`)); r.Failed {
		t.Error("the tool itself was changed")
	}
}
