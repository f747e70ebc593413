package tool

import (
	"context"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
)

// Approver decides whether a call may run. It is asked, one call at a time, about every
// call of a tool that is not ReadOnly or that has Approval set. An error stops the
// agent.
type Approver func(ctx context.Context, t *Tool, call session.Call) (Decision, error)

// Decision is an approver's answer. The zero value refuses.
type Decision struct {
	Allow     bool   `json:"allow"`
	Reason    string `json:"reason,omitempty"`    // for the model, when refused
	Arguments string `json:"arguments,omitempty"` // replaces the call's when set
}

// AllowAll approves every call.
func AllowAll(context.Context, *Tool, session.Call) (Decision, error) {
	return Decision{Allow: true}, nil
}

type approverKey struct{}

// WithApprover returns a context in which a decides.
func WithApprover(ctx context.Context, a Approver) context.Context {
	return context.WithValue(ctx, approverKey{}, a)
}

// approve asks for a decision if the call needs one. It is an effect: a resumed or
// replayed run does not ask again.
func approve(ctx context.Context, t *Tool, call session.Call) (Decision, error) {
	approver, _ := ctx.Value(approverKey{}).(Approver)
	switch {
	case t.Class == effect.ReadOnly && !t.Approval, approver == nil && !t.Approval:
		return Decision{Allow: true}, nil
	case approver == nil:
		return Decision{Reason: "it needs an approval, and nobody is there to give it"}, nil
	}
	return effect.Do(ctx, effect.Call{Kind: "approval", Name: t.Name, Input: &call, Class: effect.ReadOnly},
		func(ctx context.Context) (Decision, error) { return approver(ctx, t, call) })
}
