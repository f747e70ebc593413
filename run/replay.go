package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// Replay runs a workflow against the recorded effects of a run: no model, no tool, no
// clock, no network; nothing is written. It returns the session and the error that the
// run had. A program that does anything else than the record tells gets a
// [*Divergence].
func (r *Runner) Replay(ctx context.Context, id session.ID, w flow.Workflow) (session.Session, error) {
	run, err := r.store.Run(ctx, id)
	if err != nil {
		return session.Session{}, fmt.Errorf("replay run %s: %w", id, err)
	}
	rec, err := r.read(ctx, id)
	if err != nil {
		return session.Session{}, err
	}
	var in session.Session
	if !run.Input.IsZero() {
		if in, err = r.store.Session(ctx, run.Input); err != nil {
			return in, fmt.Errorf("replay run %s: %w", id, err)
		}
	}
	out, err := replay(flow.WithDecider(ctx, unaskable), rec, run, w, in)
	if diverged := errors.As(err, new(*Divergence)); diverged || errors.Is(err, store.ErrDamaged) {
		return out, err
	}
	if differs := r.compare(ctx, run, out, err); differs != nil {
		return out, differs
	}
	return out, err
}

// compare makes sure that a replay came to the end that the run had.
func (r *Runner) compare(ctx context.Context, run store.Run, out session.Session, err error) error {
	got := ""
	if err != nil {
		got = err.Error()
	}
	switch run.State {
	case store.Succeeded, store.Failed:
		if got != run.Error {
			return &Divergence{Kind: "result", Field: "error", Recorded: show(run.Error), Asked: show(got), Nearest: &store.Effect{}}
		}
	case store.Cancelled, store.TimedOut: // where that struck is chance
	default:
		return nil
	}
	if run.Output.IsZero() {
		return nil
	}
	kept, readErr := r.store.Session(ctx, run.Output)
	if readErr != nil {
		return fmt.Errorf("replay run %s: %w", run.ID, readErr)
	}
	if kept.Digest() != out.Digest() {
		return &Divergence{Kind: "result", Field: "digest", Recorded: kept.Digest().String(), Asked: out.Digest().String(), Nearest: &store.Effect{}}
	}
	return nil
}

func replay(ctx context.Context, rec *record, run store.Run, w flow.Workflow, in session.Session) (session.Session, error) {
	j := newJournal(rec, run.Head, nil)
	j.broken = run.State != store.Succeeded && run.State != ""
	ctx = flow.WithRun(ctx, run.ID.String())
	ctx, traced := traceReplay(ctx, run, rec)
	out, err := flow.Forward(effect.WithJournal(ctx, j), "", w, in)
	out = out.WithMint(nil)
	traced(out, err)
	if broke := j.broke(); broke != nil {
		return out, broke // whatever the program made of it
	}
	if left := rec.left(); left != nil && (err == nil || run.State == store.Succeeded) {
		return out, &Divergence{Path: left.Path, Kind: left.Kind, Name: left.Name, Missing: true, Nearest: left}
	}
	return out, err
}

// unaskable is the decider of a replay. Every answer is on record.
func unaskable(context.Context, flow.Question) (flow.Decision, error) {
	return flow.Decision{}, errors.New("a replay asks nobody")
}

// broke is why a replay could not go on: a divergence, or a record that cannot be read.
func (j *journal) broke() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.over
}

// Rerun starts a new run on a fork of another run's input: what that run had recorded
// before its effect number from is taken over, everything after is live. With 0 all
// is live. The new run's id and sessions are its own.
func (r *Runner) Rerun(ctx context.Context, id session.ID, w flow.Workflow, from int64, options ...StartOption) (*Handle, error) {
	source, err := r.store.Run(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("rerun %s: %w", id, err)
	}
	rec, err := r.read(ctx, id)
	if err != nil {
		return nil, err
	}
	in, err := r.input(ctx, source)
	if err != nil {
		return nil, err
	}
	in = in.Fork()
	run := r.newRun(source.Name, w, in, append([]StartOption{WithSpec(source.Spec)}, options...))
	run.Source = id
	return r.start(ctx, run, w, in, rec.before(from))
}

// before are the effects to be taken over by a rerun from an effect's number on: those
// that had ended, in the order of the events that they become behind the run's creation.
// What happened within one that is taken over is not asked for again, but was spent.
func (r *record) before(from int64) (seeds []store.Noted) {
	numbers := map[int64]int64{} // of those taken over: what they were, and become
	for _, x := range r.list {
		if !x.Done || x.Last >= from || x.Kind == kindSession {
			continue
		}
		in := x.Intent
		in.Within, in.Attempt = numbers[x.Within], x.Attempts-1
		seeds = append(seeds, store.Noted{Intent: in, Value: x.Result.Value, Error: x.Result.Error, Settled: x.BySomebody()})
		numbers[x.ID] = int64(1 + len(seeds))
	}
	return seeds
}
