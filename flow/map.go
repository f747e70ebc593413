package flow

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"sync"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
)

// DefaultParallel is how many sessions a [Map] works on at a time unless it says otherwise.
const DefaultParallel = 16

// ahead is how many times as many results as are made at a time may wait for an earlier one.
const ahead = 4

// Map runs a workflow on each of many sessions, some of them at a time. Set its fields before
// the first use; then it is safe for concurrent use.
//
// Each session has a scope of its number, from 0: a durable run that is resumed has what was
// finished answered from its record. Where a session's sandbox can be forked, it is worked on
// in a workspace of its own, as in [Parallel]; but the sessions have nothing to do with each
// other, so nothing is merged. What each leaves is kept, and its session says which snapshot
// that is.
type Map struct {
	Workflow Workflow
	Parallel int            // sessions at a time; 0: DefaultParallel
	Share    bool           // have them work in their sessions' own workspaces
	Progress func(Progress) // is told after each beginning and end, one at a time; nil: nobody is
}

// Progress is how far a [Map] has come, in sessions.
type Progress struct {
	Begun  int
	Ended  int // those that failed too
	Failed int
}

// Run yields what becomes of each session, in their order: the workflow's result, or its error
// and the session as far as it got. One that fails does not stop the others.
//
// The sessions are read in a goroutine of Run's, as they are needed. Of those that have begun,
// at most five times Parallel are in memory: where the first is slow, the others wait for it in
// the end. When ctx ends no session is begun any more, and the last results are those of the
// ones that had: look at ctx's error. To leave the loop early cancels what is under way, and
// waits for it.
func (m *Map) Run(ctx context.Context, in iter.Seq[session.Session]) iter.Seq2[session.Session, error] {
	return func(yield func(session.Session, error) bool) {
		r := newMapping(m)
		ctx, cancel := context.WithCancel(ctx)
		defer r.working.Wait()
		defer cancel()
		r.working.Go(func() { r.feed(ctx, in) })
		for result := range r.results {
			if out := <-result; !yield(out.session, out.err) {
				return
			}
		}
	}
}

// mapping is one Run of a Map.
type mapping struct {
	*Map
	slots   chan struct{}     // has one for each session that is worked on
	results chan chan outcome // in the order of the sessions
	working sync.WaitGroup

	mu   sync.Mutex
	made Progress
}

// outcome is what became of a session.
type outcome struct {
	session session.Session
	err     error
}

func newMapping(m *Map) *mapping {
	parallel := m.Parallel
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	return &mapping{Map: m, slots: make(chan struct{}, parallel), results: make(chan chan outcome, ahead*parallel)}
}

// feed begins the sessions, each when there is a slot for it and room for its result.
func (r *mapping) feed(ctx context.Context, in iter.Seq[session.Session]) {
	defer close(r.results)
	i := 0
	for s := range in {
		result := make(chan outcome, 1)
		if !send(ctx, r.slots, struct{}{}) || !send(ctx, r.results, result) {
			return
		}
		ctx := effect.Scope(ctx, strconv.Itoa(i))
		r.working.Go(func() {
			r.count(Progress{Begun: 1})
			out, err := r.forward(ctx, s)
			r.ended(err)
			result <- outcome{out, err}
			<-r.slots
		})
		i++
	}
}

// send sends a value, unless ctx ends before.
func send[T any](ctx context.Context, to chan<- T, value T) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case to <- value:
		return true
	case <-ctx.Done():
		return false
	}
}

// forward runs the workflow on a session, in a workspace of its own if it is to have one.
func (m *Map) forward(ctx context.Context, s session.Session) (session.Session, error) {
	if m.Share || !s.Placement().Forkable {
		return Forward(ctx, "", m.Workflow, s)
	}
	b, err := Branch(ctx, journaled(ctx, s), 1)
	if err != nil {
		return s, err
	}
	out, err := Forward(ctx, "", m.Workflow, b.Sessions[0])
	b.Sessions[0] = out
	if ctx.Err() == nil {
		var markErr error
		out, markErr = b.leave(ctx)
		err = errors.Join(err, markErr)
	}
	return out, errors.Join(err, b.Close())
}

// leave takes the only session out of its workspace, and marks what that is.
func (b *Branches) leave(ctx context.Context) (session.Session, error) {
	out := b.Sessions[0]
	if b.base == "" {
		return out, nil
	}
	ends, err := b.ends(ctx)
	if b.forked(0, out) {
		out = out.To(b.from.Sandbox())
	}
	if err != nil {
		return out, fail(ctx, out.ID(), "keep", err)
	}
	b.joined = true
	return out.WithMark(ends[0]), nil
}

func (r *mapping) ended(err error) {
	p := Progress{Ended: 1}
	if err != nil {
		p.Failed = 1
	}
	r.count(p)
}

// count adds to what was made, and tells.
func (r *mapping) count(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = Progress{r.made.Begun + p.Begun, r.made.Ended + p.Ended, r.made.Failed + p.Failed}
	if r.Progress != nil {
		r.Progress(r.made)
	}
}
