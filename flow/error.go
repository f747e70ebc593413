package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
)

// ErrMaxSteps is returned when a model still calls tools after the last step it was
// allowed.
var ErrMaxSteps = errors.New("the model did not come to an end")

// Error says where in a workflow something failed.
type Error struct {
	Path    string     // of the workflow, "review/draft"; empty at the root
	Session session.ID // the session that was being made
	Op      string     // what was attempted: "model", "tools", "merge", ...
	Err     error
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return e.Path + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Hint says what the user can do about it, if anything.
func (e *Error) Hint() string {
	if errors.Is(e.Err, ErrMaxSteps) {
		return "allow more with --max-steps, or look at the calls: the model may be going round in circles"
	}
	var h interface{ Hint() string }
	if errors.As(e.Err, &h) {
		return h.Hint()
	}
	return ""
}

// fail wraps an error once: the innermost workflow knows best where it was.
func fail(ctx context.Context, id session.ID, op string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &Error{Path: effect.Path(ctx), Session: id, Op: op, Err: err}
}

func missing(what string) error { return fmt.Errorf("no %s is set", what) }

// Forward runs a workflow in a scope of its own; an empty name is no scope. It is what the
// containers of this package do with their children, and what a workflow of yours may do
// with its own: effects below it belong to the scope, and errors say where they were.
func Forward(ctx context.Context, scope string, w Workflow, s session.Session) (session.Session, error) {
	ctx = effect.Scope(ctx, scope)
	if w == nil {
		return s, fail(ctx, s.ID(), "forward", missing("workflow"))
	}
	out, err := w.Forward(ctx, journaled(ctx, s))
	return out, fail(ctx, out.ID(), "forward", err)
}
