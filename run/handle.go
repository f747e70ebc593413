package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// The causes that end a run from outside.
var (
	ErrCancelled = errors.New("the run was cancelled")
	ErrTimedOut  = errors.New("the run's time was up")
	// ErrWaiting comes from a run that was put down until its questions are decided.
	ErrWaiting = errors.New("the run waits for decisions")
)

// Handle is a run that this process drives.
type Handle struct {
	runner  *Runner
	run     store.Run
	journal *journal
	cancel  context.CancelCauseFunc
	asked   asked
	done    chan struct{}
	out     session.Session
	state   store.State
	err     error
}

// ID names the run.
func (h *Handle) ID() session.ID { return h.run.ID }

// Done is closed when this process drives the run no more.
func (h *Handle) Done() <-chan struct{} { return h.done }

// Wait waits until this process drives the run no more, and returns the session and the
// error of the workflow: ErrCancelled, ErrTimedOut, ErrWaiting, or its own. A run that was
// put down within a mutating effect has a *ReviewError beside. What the store could not
// keep is an error too. It may be called often.
func (h *Handle) Wait() (session.Session, error) {
	<-h.done
	return h.out, h.err
}

// State is the state in which this process left the run; Running while it drives it.
func (h *Handle) State() store.State {
	select {
	case <-h.done:
		return h.state
	default:
		return store.Running
	}
}

// drive runs a workflow under a lease.
func (r *Runner) drive(ctx context.Context, run store.Run, w flow.Workflow, s session.Session, rec *record) *Handle {
	h := &Handle{runner: r, run: run, done: make(chan struct{}), state: store.Running}
	outer := ctx
	ctx, h.cancel = context.WithCancelCause(ctx)
	if !run.Deadline.IsZero() {
		var release context.CancelFunc
		ctx, release = context.WithDeadlineCause(ctx, run.Deadline, ErrTimedOut)
		context.AfterFunc(ctx, release)
	}
	keep := context.WithoutCancel(ctx)
	h.journal = newJournal(rec, run.Head, r.opts.Now)
	h.journal.full = r.opts.Durability == Full
	h.journal.put = func(b store.Batch) store.Commit { return r.store.Append(keep, run.Lease, b) }
	h.asked = asked{rounds: rec.rounds()}

	r.mu.Lock()
	if r.handles[run.ID] == nil { // else it is a second start, which the store will refuse
		r.handles[run.ID] = h
	}
	r.mu.Unlock()
	go h.drive(outer, ctx, w, s)
	return h
}

func (h *Handle) drive(outer, ctx context.Context, w flow.Workflow, s session.Session) {
	defer close(h.done)
	defer h.forget()
	stop := h.keepLease(ctx)
	ctx, span := h.trace(ctx)
	defer h.endTrace(span)
	out, err := h.forward(ctx, w, s)
	stop()
	h.out = out.WithMint(nil)
	h.state, h.err = h.outcome(outer, ctx, err)
	h.reconsider(context.WithoutCancel(outer))
	h.finish(context.WithoutCancel(outer))
	h.cancel(nil)
}

func (h *Handle) forget() {
	h.runner.mu.Lock()
	defer h.runner.mu.Unlock()
	if h.runner.handles[h.run.ID] == h {
		delete(h.runner.handles, h.run.ID)
	}
}

// forward runs the workflow with everything that a run has in its context.
func (h *Handle) forward(ctx context.Context, w flow.Workflow, s session.Session) (out session.Session, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.runner.opts.Log.ErrorContext(ctx, "workflow panicked", "run", h.run.ID, "panic", p, "stack", string(debug.Stack()))
			out, err = s, fmt.Errorf("the workflow panicked: %v", p)
		}
	}()
	ctx = flow.WithRun(ctx, h.run.ID.String())
	ctx = flow.WithDecider(ctx, h.decide)
	ctx = flow.Observe(ctx, h.observe)
	return flow.Forward(effect.WithJournal(ctx, h.journal), "", w, s)
}

// observe keeps each session that an agent has made.
func (h *Handle) observe(e flow.Event) {
	end, ok := e.(flow.End)
	if !ok || h.journal.record.made[end.Session.ID()] || cancelled(end.Err) {
		return // what is cancelled may be completed later, under the same id
	}
	s := end.Session.WithMint(nil)
	made := store.SessionMade{ID: s.ID(), Digest: s.Digest(), Path: end.Path}
	_ = h.journal.note(store.EventSession, made, s) // the end tells
}

func cancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// outcome judges how the run came to its end here.
func (h *Handle) outcome(outer, ctx context.Context, err error) (store.State, error) {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, store.ErrFenced):
		return store.Running, cause
	case err == nil:
		return store.Succeeded, nil
	case errors.Is(cause, ErrWaiting):
		return store.Waiting, ErrWaiting
	case errors.Is(cause, ErrCancelled):
		return store.Cancelled, ErrCancelled
	case errors.Is(cause, ErrTimedOut):
		return store.TimedOut, ErrTimedOut
	case outer.Err() != nil, errors.As(err, new(*Divergence)):
		return store.Queued, err // for another process, or for the right program
	}
	return store.Failed, err
}

// reconsider looks at a run that is to be put down: its end may be wanted by now, or its
// mutating effects may need a review.
func (h *Handle) reconsider(ctx context.Context) {
	if h.state != store.Queued && h.state != store.Waiting {
		return
	}
	if run, err := h.runner.store.Run(ctx, h.run.ID); err == nil && run.Cancel {
		h.state, h.err = store.Cancelled, ErrCancelled
		return
	}
	if open := h.journal.stopped(); len(open) > 0 {
		h.state = store.NeedsReview
		h.err = errors.Join(h.err, &ReviewError{h.run.ID, open})
	}
}

// finish records the end, or that the run is put down, and waits until that is on disk.
func (h *Handle) finish(ctx context.Context) {
	if h.state == store.Running { // it is another's
		h.journal.stop(ErrOver)
		return
	}
	change := store.StateChange{State: h.state}
	b := store.Batch{State: &change}
	if h.state.Ended() {
		change.Output, change.Digest = h.out.ID(), h.out.Digest()
		b.Sessions = []session.Session{h.out}
	}
	if h.err != nil {
		change.Error = h.err.Error()
	}
	commit, err := h.journal.conclude(store.EventState, change, b)
	if err == nil {
		err = h.journal.wait(ctx, commit)
	}
	if err == nil && !h.state.Ended() {
		err = h.runner.store.Release(ctx, h.run.Lease)
	}
	if err != nil {
		h.state = store.Running // as far as the store knows
		h.err = errors.Join(h.err, fmt.Errorf("keep run %s: %w", h.run.ID, err))
	}
}

// keepLease renews the lease until stop is called, also while a cancelled run winds down.
func (h *Handle) keepLease(ctx context.Context) (stop func()) {
	ctx = context.WithoutCancel(ctx)
	every := h.runner.opts.Lease / 5
	var mu sync.Mutex // held while it renews
	var timer *time.Timer
	stopped := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(every, func() {
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			h.renew(ctx)
			timer.Reset(every)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// renew renews the lease. One that is lost, or somebody's wish, ends the run.
func (h *Handle) renew(ctx context.Context) {
	cancelled, err := h.runner.store.Renew(ctx, h.run.Lease, h.runner.opts.Lease)
	switch {
	case errors.Is(err, store.ErrFenced):
		h.cancel(err)
	case err != nil:
		h.runner.opts.Log.Warn("the lease of a run could not be renewed", "run", h.run.ID, "error", err)
	case cancelled:
		h.cancel(ErrCancelled)
	}
}

// Watch yields a run's events after a number, those to come too, until the run has ended
// or ctx does.
func (r *Runner) Watch(ctx context.Context, id session.ID, after int64) func(yield func(store.Event, error) bool) {
	return func(yield func(store.Event, error) bool) {
		for {
			run, err := r.store.Run(ctx, id) // before the events: what it has ended with is among them
			if err != nil {
				yield(store.Event{}, err)
				return
			}
			for e, err := range r.store.Events(ctx, id, after) {
				if !yield(e, err) || err != nil {
					return
				}
				after = e.Seq
			}
			if run.State.Ended() || sleep(ctx, pollEvery) != nil {
				return
			}
		}
	}
}
