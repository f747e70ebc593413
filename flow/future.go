package flow

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
)

// Future is a session that a workflow is still making. Its id and parents are known at
// once.
type Future struct {
	id      session.ID
	parents []session.Parent
	done    chan struct{}
	out     session.Session
	err     error
}

// Go runs a workflow in a goroutine of its own, which ends when the workflow does: to
// stop it, cancel ctx.
//
// The future's id is that of the session to come. Where the workflow is a single agent
// that is the agent's own session; otherwise it is one more node, with the workflow's
// result as another parent.
func Go(ctx context.Context, w Workflow, s session.Session) *Future {
	id, at := s.Reserve()
	f := &Future{id: id, done: make(chan struct{})}
	if !s.ID().IsZero() {
		f.parents = []session.Parent{{ID: s.ID(), Role: session.RoleInput}}
	}
	ctx = effect.Numbered(ctx, "go")
	if _, ok := w.(*Agent); ok {
		ctx = context.WithValue(ctx, reservationKey{}, &reservation{in: s.ID(), id: id, at: at})
	}
	go func() {
		defer close(f.done)
		out, err := Forward(ctx, "", w, s)
		f.out, f.err = identify(out, s, id, at), err
	}()
	return f
}

// ID returns the id of the session to come.
func (f *Future) ID() session.ID { return f.id }

// Parents returns the parents of the session to come that are known already: the input.
func (f *Future) Parents() []session.Parent { return slices.Clone(f.parents) }

// Done is closed when the session is there.
func (f *Future) Done() <-chan struct{} { return f.done }

// Wait returns the session and the workflow's error once it has ended.
func (f *Future) Wait() (session.Session, error) {
	<-f.done
	return f.out, f.err
}

// identify makes sure that the session has the id that was promised.
func identify(out, in session.Session, id session.ID, at time.Time) session.Session {
	if out.ID() == id {
		return out
	}
	step := session.Step{ID: id, Time: at}
	if out.ID() != in.ID() {
		step.Parents = []session.Link{{Session: out, Role: session.RoleBranch}}
	}
	return in.Derive(out.Transcript(), step).To(out.Sandbox())
}

// reservation is an id that waits for the agent that is called with its input.
type reservation struct {
	in    session.ID
	id    session.ID
	at    time.Time
	taken atomic.Bool
}

type reservationKey struct{}

// identity is that of the session that an agent will make of in.
func identity(ctx context.Context, in session.Session) (session.ID, time.Time) {
	r, _ := ctx.Value(reservationKey{}).(*reservation)
	if r != nil && r.in == in.ID() && r.taken.CompareAndSwap(false, true) {
		return r.id, r.at
	}
	return in.Reserve()
}
