package tool

import (
	"context"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
)

// Approver decides whether a call may run. It is asked about every call of a tool that
// is not ReadOnly or that has Approval set, before any call of the reply runs: about one
// after the other, unless it says with [Asked] that its question is put and the next may
// be. It must be safe for concurrent use, because agents that run in parallel ask
// at the same time. An error stops the agent: no further call is asked about.
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

type (
	approverKey struct{}
	askerKey    struct{}
	askedKey    struct{}
)

// Asked is called by an approver that has put its question and waits: the reply's next
// call can be asked about meanwhile. Outside of an approver it does nothing.
func Asked(ctx context.Context) {
	if asked, ok := ctx.Value(askedKey{}).(func()); ok {
		asked()
	}
}

// WithApprover returns a context in which a decides.
func WithApprover(ctx context.Context, a Approver) context.Context {
	return context.WithValue(ctx, approverKey{}, a)
}

// WithAsker returns a context in which a decides about the tools that have Approval set,
// where no [Approver] is there to decide about all.
func WithAsker(ctx context.Context, a Approver) context.Context {
	return context.WithValue(ctx, askerKey{}, a)
}

// ApproverOf returns who decides in a context, nil if nobody does.
func ApproverOf(ctx context.Context) Approver {
	a, _ := ctx.Value(approverKey{}).(Approver)
	return a
}

// approve asks for a decision if the call needs one. It is an effect: a resumed or
// replayed run does not ask again.
func approve(ctx context.Context, t *Tool, call session.Call, p Policy) (Decision, error) {
	approver := ApproverOf(ctx)
	asker, _ := ctx.Value(askerKey{}).(Approver)
	if approver == nil && t.Approval {
		approver = asker
	}
	if p != nil {
		approver = judged(p, orElse(approver, asker), approver)
	}
	asked := approval(t, &call)
	if approver == nil && !effect.Known(ctx, asked) {
		return Decision{Reason: nobody}, nil
	}
	return effect.Do(ctx, asked,
		func(ctx context.Context) (Decision, error) { return ask(ctx, approver, t, call) })
}

// approval is the effect of a decision.
func approval(t *Tool, call *session.Call) effect.Call {
	return effect.Call{Kind: "approval", Name: t.Name, Input: call, Class: effect.ReadOnly}
}

// needsApproval reports whether somebody must be asked about a call, or was, whoever
// decides now.
func needsApproval(ctx context.Context, t *Tool, call *session.Call) bool {
	decides := t.Approval || t.Class != effect.ReadOnly && ApproverOf(ctx) != nil
	return decides || effect.Journaled(ctx) && effect.Known(ctx, approval(t, call))
}

// ask has the approver decide. One that panics refuses.
func ask(ctx context.Context, approver Approver, t *Tool, call session.Call) (Decision, error) {
	var refused error
	d, panicked := guard(ctx, t, "the approver", func() (d Decision, _ error) {
		d, refused = approver(ctx, t, call)
		return d, nil
	})
	if panicked != nil {
		return Decision{Reason: panicked.Error()}, nil
	}
	return d, refused
}
