package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// Request is a question for a person.
type Request struct {
	// Key names the question among those that its place in the workflow asks. Several
	// asked at the same time need different keys.
	Key     string          `json:"key,omitempty"`
	Kind    RequestKind     `json:"kind"`
	Message string          `json:"message,omitempty"`
	Call    *CallRequest    `json:"call,omitempty"`      // the call to be approved
	Data    json.RawMessage `json:"data,omitempty"`      // what is to be reviewed
	Within  time.Duration   `json:"within_ns,omitempty"` // after it the question expires; 0: never
}

// CallRequest is a tool call that waits for its approval.
type CallRequest struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

// RequestKind says what is asked for.
type RequestKind string

// The kinds of requests.
const (
	KindApproval RequestKind = "approval"
	KindInput    RequestKind = "input"
	KindReview   RequestKind = "review"
)

// Decision is a person's answer.
type Decision struct {
	Verdict   Verdict `json:"verdict"`
	Arguments string  `json:"arguments,omitempty"` // with Edit: what the call gets instead
	Text      string  `json:"text,omitempty"`      // with Respond the response, else the reason
	By        string  `json:"by,omitempty"`
}

// Verdict is the sense of a decision.
type Verdict string

// The verdicts.
const (
	Approve Verdict = "approve"
	Edit    Verdict = "edit" // approved, with other arguments
	Reject  Verdict = "reject"
	Respond Verdict = "respond"
)

// Check reports what keeps a decision from being one.
func (d Decision) Check() error {
	switch {
	case !slices.Contains([]Verdict{Approve, Edit, Reject, Respond}, d.Verdict):
		return fmt.Errorf("decision %q: it must be approve, edit, reject or respond", d.Verdict)
	case (d.Verdict == Edit) != (d.Arguments != ""):
		return errors.New("a decision has arguments if it is to edit, and only then")
	case d.Arguments != "" && !json.Valid([]byte(d.Arguments)):
		return errors.New("the decision's arguments are not JSON")
	}
	return nil
}

// Errors of Interrupt.
var (
	ErrNobodyDecides = errors.New("nobody is there to decide")
	ErrExpired       = errors.New("the question expired before it was decided")
)

// Decider answers questions. It is called from many goroutines.
type Decider func(ctx context.Context, q Question) (Decision, error)

// Question is a request and the place that asks it.
type Question struct {
	Path string // of the workflow
	Request

	// Asked may be called when the question is put and the answer has yet to come: the next
	// one can be put meanwhile. Without it, a reply's calls are asked about one by one.
	Asked func()
}

type deciderKey struct{}

// WithDecider returns a context in which d answers. A durable run brings its own, which
// keeps the questions and waits, and asks the one that was there before.
func WithDecider(ctx context.Context, d Decider) context.Context {
	return context.WithValue(ctx, deciderKey{}, d)
}

// DeciderOf returns who answers in a context, nil if nobody does.
func DeciderOf(ctx context.Context) Decider {
	d, _ := ctx.Value(deciderKey{}).(Decider)
	return d
}

// Interrupt asks a person and waits for the answer. In a durable run it waits durably:
// the process may end, and the run goes on where it is resumed. It is an effect, so
// that nothing is asked twice. The error is ErrNobodyDecides, ErrExpired, the
// decider's, or the context's.
func Interrupt(ctx context.Context, r Request) (Decision, error) {
	decide := DeciderOf(ctx)
	if decide == nil {
		return Decision{}, fmt.Errorf("%s %s: %w", r.Kind, r.Key, ErrNobodyDecides)
	}
	out, err := effect.Do(ctx, effect.Call{Kind: "interrupt", Name: r.Key, Input: &r, Class: effect.ReadOnly},
		func(ctx context.Context) (decided, error) {
			d, err := decide(ctx, Question{effect.Path(ctx), r, func() { tool.Asked(ctx) }})
			if errors.Is(err, ErrExpired) {
				return decided{Expired: true}, nil
			}
			return decided{Decision: d}, err
		})
	switch {
	case err == nil && out.Expired:
		return out.Decision, fmt.Errorf("%s %s: %w", r.Kind, r.Key, ErrExpired)
	case err != nil:
		return out.Decision, err
	}
	return out.Decision, out.Decision.Check()
}

// decided is what a journal keeps of a decision.
type decided struct {
	Decision Decision `json:"decision"`
	Expired  bool     `json:"expired,omitempty"`
}

// AskFirst is an approver that asks through [Interrupt]. A decider that is silent until
// the question expires refuses.
func AskFirst(ctx context.Context, t *tool.Tool, call session.Call) (tool.Decision, error) {
	d, err := Interrupt(ctx, Request{
		Key: call.ID, Kind: KindApproval, Message: "allow " + t.Name + "?",
		Call: &CallRequest{call.ID, t.Name, call.Arguments},
	})
	switch {
	case errors.Is(err, ErrExpired):
		return tool.Decision{Reason: "nobody answered in time"}, nil
	case err != nil:
		return tool.Decision{}, err
	}
	return tool.Decision{Allow: d.Verdict == Approve || d.Verdict == Edit, Reason: d.Text, Arguments: d.Arguments}, nil
}
