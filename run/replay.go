package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	if err == nil && !run.Output.IsZero() {
		err = r.sameOutput(ctx, run, out)
	}
	return out, err
}

// sameOutput makes sure that the replay gave what the run gave.
func (r *Runner) sameOutput(ctx context.Context, run store.Run, out session.Session) error {
	kept, err := r.store.Session(ctx, run.Output)
	if err != nil {
		return fmt.Errorf("replay run %s: %w", run.ID, err)
	}
	if run.State.Ended() && kept.Digest() != out.Digest() {
		return &Divergence{Kind: "result", Field: "digest", Recorded: kept.Digest().String(), Asked: out.Digest().String(), Nearest: &store.Effect{}}
	}
	return nil
}

func replay(ctx context.Context, rec *record, run store.Run, w flow.Workflow, in session.Session) (session.Session, error) {
	j := newJournal(rec, run.Head, nil)
	j.broken = run.State != store.Succeeded && run.State != ""
	ctx = flow.WithRun(ctx, run.ID.String())
	out, err := flow.Forward(effect.WithJournal(ctx, j), "", w, in)
	out = out.WithMint(nil)
	if d := j.divergence(); d != nil {
		return out, d // whatever the program made of it
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

func (j *journal) divergence() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var d *Divergence
	if errors.As(j.over, &d) {
		return d
	}
	return nil
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
	seed := newRecord(slices.DeleteFunc(rec.list, func(x *store.Effect) bool {
		return !x.Done || x.Last >= from || x.Kind == kindSession
	}), rec.get)
	seed.inherited = true
	in = in.Fork()
	run := r.newRun(source.Name, w, in, append([]StartOption{WithSpec(source.Spec)}, options...))
	run.Source = id
	return r.start(ctx, run, w, in, seed)
}
