package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/spf13/cobra"
)

func (a *app) replayCommand() *cobra.Command {
	var o overrides
	cmd := &cobra.Command{
		Use:   "replay ID",
		Short: "Do a run again from its record, with nothing live, and compare",
		Long: `Replay does a run again against what it has recorded: no model, no tool, no network;
nothing is written. Where the agent would do anything else than the record tells, it has
diverged: the exit code is 3, and the first difference is named. With --system, --model
or --tools it is another agent, and you see where that would part from the record.

A run that failed is replayed to the same failure, which is then no failure of the
replay: the exit code is 0. A record that is damaged shows nothing about the agent: the
exit code is 1.

The ID is that of a run, or of a session that a run has made. ` + idHelp,
		Example: "  rath replay @\n  rath replay 0198c0de --system \"Be brief.\"",
		Args:    cobra.ExactArgs(1),
		RunE: a.withRecords(reading, func(ctx context.Context, r *records, args []string) error {
			return a.replay(ctx, r, args[0], o)
		}),
	}
	o.flags(cmd)
	return cmd
}

func (a *app) replay(ctx context.Context, r *records, text string, o overrides) error {
	stored, err := r.run(ctx, text)
	if err != nil {
		return err
	}
	if stored.Name == batchName {
		return a.replayBatch(ctx, r, stored, o)
	}
	s, err := specOf(stored)
	if err != nil {
		return err
	}
	if o.model != "" {
		if _, err := o.choose(a, &s); err != nil {
			return err
		}
	}
	if err := o.apply(&s); err != nil {
		return err
	}
	var notes *memory.Store
	if s.Memory != nil {
		notes = memory.Unopened(s.Memory.Memory)
		defer notes.Close()
	}
	if s.Flow != nil {
		a.warnChanged(s.Flow)
	}
	agent, err := s.workflow(silent(s.Model), notes, connectNothing, replayFlowServer)
	if err != nil {
		return err
	}
	effects, err := r.effects(ctx, stored.ID)
	if err != nil {
		return err
	}
	out, err := a.runner(r, run.Options{}).Replay(ctx, stored.ID, agent)
	return a.replayed(stored, len(effects), out, err)
}

// replayed says what came of a replay. A run that did not succeed ends as it did.
func (a *app) replayed(stored store.Run, effects int, out session.Session, err error) error {
	verdict := "the same"
	switch {
	case err == nil:
	case errors.Is(err, store.ErrDamaged):
		return &hinted{err, damagedHint}
	case errors.As(err, new(*run.Divergence)):
		return err
	case errors.Is(err, run.ErrRecordEnds) && stored.State != store.Succeeded:
		verdict = "the same as far as the record goes: the run is " + string(stored.State)
	case stored.State == store.Failed && err.Error() == stored.Error:
		verdict = "the same, and it fails as it did: " + oneLine(stored.Error, 300)
	default:
		return err
	}
	if a.asJSON {
		return a.writeJSON(map[string]any{
			"ok": true, "run": stored.ID, "state": stored.State, "effects": effects, "session": out.ID(), "digest": out.Digest(), "verdict": verdict,
		})
	}
	_, err = fmt.Fprintf(a.out, "run %s: %d effects, %s\ndigest %s\n", stored.ID, effects, printable(verdict), out.Digest())
	return err
}
