package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/spf13/cobra"
)

func (a *app) runsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List runs, look into them, and decide about them",
		Long:  "List runs, look into them, and decide about them.\n\n" + idHelp,
	}
	cmd.AddCommand(a.runsListCommand(), a.runsShowCommand(), a.runsCancelCommand(), a.runsDecideCommand(), a.runsSettleCommand())
	return cmd
}

func (a *app) psCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ps",
		Short: "List the runs that are going, or wait for somebody",
		Args:  cobra.NoArgs,
		RunE: a.withRecords(reading, func(ctx context.Context, r *records, _ []string) error {
			open := slices.DeleteFunc(slices.Clone(store.States), store.State.Ended)
			return a.listRuns(ctx, r, store.RunFilter{States: open})
		}),
	}
}

func (a *app) runsListCommand() *cobra.Command {
	var states []string
	var limit int
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List runs, the newest last",
		Example: "  rath runs ls --state waiting --state needs_review\n  rath runs ls -n 0",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "only those in this state: "+stateNames())
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "how many of the newest (0: all)")
	list := a.withRecords(reading, func(ctx context.Context, r *records, _ []string) error {
		f := store.RunFilter{Newest: true, Limit: limit}
		for _, s := range states {
			f.States = append(f.States, store.State(s))
		}
		return a.listRuns(ctx, r, f)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, s := range states {
			if !slices.Contains(store.States, store.State(s)) {
				return usageOf(cmd, fmt.Errorf("--state %s: it must be one of %s", s, stateNames()))
			}
		}
		if limit < 0 {
			return usageOf(cmd, fmt.Errorf("--limit %d is less than nothing", limit))
		}
		return list(cmd, args)
	}
	return cmd
}

func stateNames() string {
	var names []string
	for _, s := range store.States {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// runRow is a run in a list.
type runRow struct{ store.Run }

func (r runRow) cells() []string {
	return []string{r.ID.String(), when(r.Created, time.DateTime), string(r.State), span(r.took()), r.Name, oneLine(r.note(), 100)}
}

// note is what is to be said of the state.
func (r runRow) note() string {
	switch {
	case r.State == store.Failed:
		return r.Error
	case r.late(time.Now()):
		return "its time is up: rath resume ends it"
	case r.State == store.Queued:
		return "rath resume drives it on"
	case r.State == store.Waiting, r.State == store.NeedsReview:
		return "rath runs show says for what"
	case r.State != store.Running:
		return ""
	case r.Cancel:
		return "to be cancelled by " + ownerText(r.Lease.Owner)
	case !r.Lease.Held(time.Now()):
		return ownerText(r.Lease.Owner) + " does not answer: rath resume drives it on"
	}
	return ownerText(r.Lease.Owner)
}

// late reports whether a run's time has run out where nobody was there to end it.
func (r runRow) late(now time.Time) bool {
	put := r.State == store.Queued || r.State == store.Waiting
	return put && !r.Deadline.IsZero() && now.After(r.Deadline)
}

// took is how long the run took, or has been there.
func (r runRow) took() time.Duration {
	if r.State.Ended() {
		return r.Updated.Sub(r.Created)
	}
	return time.Since(r.Created)
}

func (a *app) listRuns(ctx context.Context, r *records, f store.RunFilter) error {
	var rows []runRow
	for run, err := range r.Runs(ctx, f) {
		if err != nil {
			return err
		}
		rows = append(rows, runRow{run})
	}
	if f.Newest {
		slices.Reverse(rows)
	}
	return list(a, rows, "RUN", "BEGUN", "STATE", "TIME", "WORKFLOW", "NOTE")
}

func (a *app) runsCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "cancel RUN",
		Short:   "End a run, whoever drives it",
		Long:    "End a run for good, also one that another process drives: that sees it within a second.\n\n" + idHelp,
		Example: "  rath runs cancel 0198c0de",
		Args:    cobra.ExactArgs(1),
		RunE: a.withRecords(changing, func(ctx context.Context, r *records, args []string) error {
			stored, err := r.run(ctx, args[0])
			if err != nil {
				return err
			}
			if stored.State.Ended() {
				return hasEnded(stored)
			}
			if err := a.runner(r, run.Options{}).Cancel(ctx, stored.ID); err != nil {
				return err
			}
			return a.changed(ctx, r, stored.ID)
		}),
	}
}

// changed tells in which state a run is now.
func (a *app) changed(ctx context.Context, r *records, id session.ID) error {
	now, err := r.Run(ctx, id)
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.writeJSON(now)
	}
	state := strings.ReplaceAll(string(now.State), "_", " ")
	if now.Cancel && !now.State.Ended() {
		state += ", to be cancelled by " + ownerText(now.Lease.Owner)
	}
	_, err = fmt.Fprintf(a.out, "run %s: %s\n", id, printable(state))
	return err
}

// effects reads what a run did; with an error, what came before it.
func (r *records) effects(ctx context.Context, id session.ID) ([]*store.Effect, error) {
	effects, err := store.Effects(r.Events(ctx, id, 0))
	if err != nil {
		return effects, fmt.Errorf("read the record of run %s: %w", id, err)
	}
	return effects, nil
}
