package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/telemetry"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// ErrUnknownWorkflow is returned for a run whose workflow this process does not have: it
// leaves the run alone.
var ErrUnknownWorkflow = errors.New("this program does not have the run's workflow")

// ReviewError lists the effects of a run that may have happened or not, and that must not
// be repeated blindly. [Runner.Settle] settles them.
type ReviewError struct {
	Run     session.ID
	Effects []*store.Effect
}

func (e *ReviewError) Error() string {
	names := make([]string, len(e.Effects))
	for i, x := range e.Effects {
		names[i] = fmt.Sprintf("%d (%s)", x.ID, strings.TrimSpace(x.Path+" "+x.Kind+" "+x.Name))
	}
	return fmt.Sprintf("run %s needs a review: nobody knows whether these effects happened: %s", e.Run, strings.Join(names, ", "))
}

// Hint says how to go on.
func (e *ReviewError) Hint() string {
	return fmt.Sprintf("look what is there, then: rath runs settle %s %d --result JSON | --not-done | --abort", e.Run, e.Effects[0].ID)
}

// Resume drives on a run that nobody drives: after a crash, or when it was put down. The
// workflow is found by its registered name, and must have the fingerprint of the one
// that began the run; if not the error is ErrUnknownWorkflow. Other errors:
// ErrNotFound, ErrLeased, ErrEndedRun, *ReviewError, and ErrCancelled for a run whose end
// somebody asked for while nobody drove it.
func (r *Runner) Resume(ctx context.Context, id session.ID) (*Handle, error) {
	run, err := r.store.Run(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("resume run %s: %w", id, err)
	}
	if run.State.Ended() {
		return nil, fmt.Errorf("resume run %s (%s): %w", id, run.State, store.ErrEndedRun)
	}
	w := r.workflow(run.Name)
	if w == nil {
		return nil, fmt.Errorf("resume run %s: workflow %q: %w", id, run.Name, ErrUnknownWorkflow)
	}
	if got := flow.Fingerprint(w); got != run.Program {
		return nil, fmt.Errorf("resume run %s: workflow %q has changed since (%.12s, now %.12s): %w", id, run.Name, run.Program, got, ErrUnknownWorkflow)
	}
	return r.ResumeWith(ctx, id, w)
}

// ResumeWith is [Runner.Resume] with a workflow at hand, whatever its fingerprint. A
// program that does something else than the record tells fails with a [*Divergence]; the
// run is put down for the right one.
func (r *Runner) ResumeWith(ctx context.Context, id session.ID, w flow.Workflow) (*Handle, error) {
	run, err := r.acquire(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("resume run %s: %w", id, err)
	}
	h, err := r.resume(ctx, run, w)
	if err != nil {
		err = errors.Join(err, r.store.Release(context.WithoutCancel(ctx), run.Lease))
	}
	return h, err
}

func (r *Runner) resume(ctx context.Context, run store.Run, w flow.Workflow) (*Handle, error) {
	if run.Cancel {
		change := store.StateChange{State: store.Cancelled, Error: ErrCancelled.Error(), Output: run.Output}
		return nil, cmp.Or(r.turn(ctx, run, change), ErrCancelled)
	}
	rec, err := r.read(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if open := rec.open(); len(open) > 0 {
		review := &ReviewError{run.ID, open}
		if run.State == store.NeedsReview {
			return nil, review
		}
		return nil, errors.Join(review, r.turn(ctx, run, store.StateChange{State: store.NeedsReview, Error: review.Error()}))
	}
	in, err := r.input(ctx, run)
	if err != nil {
		return nil, err
	}
	change := store.StateChange{State: store.Running, Owner: r.owner}
	e, err := run.Head.Next(store.EventState, r.opts.Now(), change)
	if err != nil {
		return nil, err
	}
	if err := r.store.Append(ctx, run.Lease, store.Batch{Events: []store.Event{e}, State: &change}).Wait(ctx); err != nil {
		return nil, fmt.Errorf("resume run %s: %w", run.ID, err)
	}
	run.Head = e.Head()
	return r.drive(ctx, run, w, in, rec), nil
}

// read collects what earlier executions left.
func (r *Runner) read(ctx context.Context, id session.ID) (*record, error) {
	var failed error
	rec, err := readRecord(func(yield func(store.Event) bool) {
		for e, err := range r.store.Events(ctx, id, 0) {
			if failed = err; err != nil || !yield(e) {
				return
			}
		}
	}, r.object(ctx))
	if err = cmp.Or(failed, err); err != nil {
		return nil, fmt.Errorf("read the record of run %s: %w", id, err)
	}
	return rec, nil
}

// readRecord folds events into a record.
func readRecord(events iter.Seq[store.Event], get func(session.Digest) ([]byte, error)) (*record, error) {
	made := map[session.ID]bool{}
	var traced []telemetry.Place
	effects, err := store.Effects(func(yield func(store.Event, error) bool) {
		for e := range events {
			var m store.SessionMade
			if e.Kind == store.EventSession && json.Unmarshal(e.Body, &m) == nil {
				made[m.ID] = true
			}
			traced = append(traced, placeOf(e)...)
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	rec := newRecord(effects, get)
	rec.made, rec.traced = made, traced
	return rec, nil
}

// open are the effects that somebody must settle before the run can go on.
func (r *record) open() (open []*store.Effect) {
	for _, x := range r.list {
		if x.Open() && x.Class == effect.Mutating.String() {
			open = append(open, x)
		}
	}
	return open
}

// input reads the session that a run began with, and places it.
func (r *Runner) input(ctx context.Context, run store.Run) (session.Session, error) {
	var in session.Session
	if !run.Input.IsZero() {
		var err error
		if in, err = r.store.Session(ctx, run.Input); err != nil {
			return in, fmt.Errorf("read the input of run %s: %w", run.ID, err)
		}
	}
	if r.opts.Place == nil {
		return in, nil
	}
	return r.opts.Place(ctx, in)
}

// acquire takes the lease of a run, also from a holder that is known to be dead.
func (r *Runner) acquire(ctx context.Context, id session.ID) (store.Run, error) {
	run, err := r.store.Acquire(ctx, id, r.owner, r.opts.Lease, 0)
	if !errors.Is(err, store.ErrLeased) {
		return run, err
	}
	held, readErr := r.store.Run(ctx, id)
	if readErr != nil || !dead(held.Lease.Owner) {
		return run, errors.Join(err, readErr)
	}
	return r.store.Acquire(ctx, id, r.owner, r.opts.Lease, held.Lease.Fence)
}

// Recover resumes every run that nobody drives and whose workflow is registered. Runs
// that wait, need a review, or are another's are left alone; so is one that cannot be
// resumed, and the error says why.
func (r *Runner) Recover(ctx context.Context) ([]*Handle, error) {
	var handles []*Handle
	var errs []error
	for run, err := range r.store.Runs(ctx, store.RunFilter{States: []store.State{store.Queued, store.Running}}) {
		if err != nil {
			return handles, errors.Join(append(errs, err)...)
		}
		h, err := r.Resume(ctx, run.ID)
		switch {
		case err == nil:
			handles = append(handles, h)
		case !errors.Is(err, ErrUnknownWorkflow) && !errors.Is(err, store.ErrLeased):
			errs = append(errs, err)
		}
	}
	return handles, errors.Join(errs...)
}

// Settle says what is known of an effect that a run needs a review for: it happened with
// a result (JSON, for a tool what it would have given), it did not happen, or the run is
// to end. When all are settled the run can be resumed.
func (r *Runner) Settle(ctx context.Context, id session.ID, s store.Settled) error {
	run, err := r.acquire(ctx, id)
	if err != nil {
		return fmt.Errorf("settle effect %d of run %s: %w", s.Effect, id, err)
	}
	if err := r.settle(ctx, run, s); err != nil {
		return errors.Join(fmt.Errorf("settle effect %d of run %s: %w", s.Effect, id, err), r.store.Release(ctx, run.Lease))
	}
	return nil
}

// ErrNotOpen is returned where there is nothing to settle.
var ErrNotOpen = errors.New("the effect needs no review")

func (r *Runner) settle(ctx context.Context, run store.Run, s store.Settled) error {
	rec, err := r.read(ctx, run.ID)
	if err != nil {
		return err
	}
	left := 0
	found := false
	for _, x := range rec.open() {
		if x.ID == s.Effect {
			found = true
		} else {
			left++
		}
	}
	if !found {
		return ErrNotOpen
	}
	if (s.Verdict == store.VerdictResult) != (len(s.Value) > 0) {
		return errors.New("a result comes with its value, and nothing else does")
	}
	settled, err := run.Head.Next(store.EventSettled, r.opts.Now(), s)
	if err != nil {
		return err
	}
	change := store.StateChange{State: store.Queued}
	switch {
	case s.Verdict == store.VerdictAbort:
		change = store.StateChange{State: store.Failed, Output: run.Output, Error: fmt.Sprintf("aborted at the review of effect %d", s.Effect)}
	case left > 0:
		change = store.StateChange{State: store.NeedsReview, Error: fmt.Sprintf("%d more effects need a review", left)}
	}
	return r.turn(ctx, run, change, settled)
}
