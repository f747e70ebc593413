// Package flow composes agents. Everything that does work is a [Workflow]: it takes a
// session and gives the next. An [Agent] is one layer, a struct with fields is a module,
// [Sequence] and [Parallel] are containers, and routing is plain Go.
//
// Next: [github.com/openrath-go/rath/effect], through which passes what a workflow cannot compute.
package flow

import (
	"context"
	"reflect"

	"github.com/openrath-go/rath/session"
)

// Workflow turns one session into the next. With an error it returns the session as
// far as it got: what happened is kept. A workflow that is shared between goroutines
// must be safe for concurrent use, as all of this package are.
type Workflow interface {
	Forward(ctx context.Context, s session.Session) (session.Session, error)
}

// Func makes a workflow of a function.
type Func func(ctx context.Context, s session.Session) (session.Session, error)

// Forward calls f.
func (f Func) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	return f(ctx, s)
}

// Done is the identity, and what a router chooses when nothing is left to do. Compare
// with ==.
var Done Workflow = done{}

type done struct{}

func (done) Forward(_ context.Context, s session.Session) (session.Session, error) { return s, nil }

// Named gives a workflow the name that paths, events and prints show.
type Named interface {
	WorkflowName() string
}

// Describer tells a router what a workflow is for.
type Describer interface {
	Describe() string
}

// Label names and describes any workflow.
type Label struct {
	Name        string
	Description string
	Workflow    Workflow
}

// WorkflowName returns the name.
func (l *Label) WorkflowName() string { return l.Name }

// Describe returns the description.
func (l *Label) Describe() string { return l.Description }

// Forward runs the workflow in a scope of its name.
func (l *Label) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	return Forward(ctx, l.Name, l.Workflow, s)
}

// NameOf returns a workflow's own name, or else that of its type.
func NameOf(w Workflow) string {
	if n, ok := w.(Named); ok && n.WorkflowName() != "" {
		return n.WorkflowName()
	}
	t := reflect.TypeOf(w)
	if t == nil {
		return "nil"
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
