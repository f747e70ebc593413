package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/spf13/cobra"
)

func (a *app) resumeCommand() *cobra.Command {
	var who consent
	var baseURL string
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Drive on a run that was interrupted, killed, or waits",
		Long: `Resume drives on a run that nobody drives: one that was interrupted or whose process was
killed, or one that waits for decisions. What is on record is not done again.

Calls that can change something are asked about on a terminal; without one, and without
--yes, the run is put down until they are decided.

` + idHelp,
		Example: "  rath resume @\n  rath resume --yes 0198c0de",
		Args:    cobra.ExactArgs(1),
		RunE: a.withRecords(changing, func(ctx context.Context, r *records, args []string) error {
			return a.resume(ctx, r, args[0], who, baseURL)
		}),
	}
	who.flags(cmd)
	cmd.Flags().StringVar(&baseURL, "base-url", "", "address of the model's server")
	return cmd
}

func (a *app) resume(ctx context.Context, r *records, text string, who consent, baseURL string) error {
	stored, err := r.run(ctx, text)
	if err != nil {
		return err
	}
	if stored.State.Ended() {
		return hasEnded(stored)
	}
	if stored.Name == batchName {
		return a.resumeBatch(ctx, r, stored, who, baseURL)
	}
	s, err := specOf(stored)
	if err != nil {
		return err
	}
	if err := s.resumable(); err != nil {
		return err
	}
	s.Place = s.place()
	if err := errors.Join(a.examineRules(s.Place), a.examineMemory(s), a.examineServers(s), a.examineFlow(s), a.examinePolicy(s)); err != nil {
		return err
	}
	effects, err := r.effects(ctx, stored.ID)
	if err != nil {
		return err
	}
	models, err := a.castOf(s, baseURL)
	if err != nil {
		return err
	}
	model, err := s.openCast(models, s.givenBefore(effects, stored.Head.Seq+1), nil)
	if err != nil {
		return err
	}
	asked, err := r.askedCalls(ctx, stored.ID)
	if err != nil {
		return err
	}
	d, err := a.newDrive(ctx, r, s, model, func(a *app, v *view) deciding { return who.resumed(a, v, asked) })
	if err != nil {
		return err
	}
	defer d.close()
	d.announce()
	d.runner.Register(runName, d.program)
	return d.run(ctx, stored.ID, func(ctx context.Context) (*run.Handle, error) { return d.resume(ctx, stored.ID) })
}

// ends say how a run has ended.
var ends = map[store.State]string{
	store.Succeeded: "it succeeded", store.Failed: "it failed", store.Cancelled: "it was cancelled", store.TimedOut: "its time was up",
}

func hasEnded(r store.Run) error {
	hint := "rath rerun " + r.ID.String() + " begins it anew"
	if !r.Output.IsZero() {
		hint += "; rath run --session " + r.Output.String() + " MESSAGE continues its session"
	}
	if r.Name == batchName {
		hint = batchAnew
	}
	return &hinted{&reworded{fmt.Sprintf("run %s has ended: %s", r.ID, ends[r.State]), store.ErrEndedRun}, hint}
}

// replies counts what the model has given before an event, for scripts.
func replies(effects []*store.Effect, before int64) (n int) {
	for _, x := range effects {
		if x.Kind == "model" && x.Done && x.Last < before {
			n++
		}
	}
	return n
}

// resume waits for the lease of a process that does not answer any more.
func (d *drive) resume(ctx context.Context, id session.ID) (*run.Handle, error) {
	var held store.Lease
	for {
		h, err := d.runner.Resume(ctx, id)
		switch {
		case errors.Is(err, run.ErrUnknownWorkflow):
			return nil, &hinted{err, "rath rerun " + id.String() + " begins a new run of it with what there is now"}
		case !errors.Is(err, store.ErrLeased) && !errors.Is(err, store.ErrEndedRun):
			return h, err
		}
		stored, readErr := d.r.Run(ctx, id)
		switch {
		case readErr != nil:
			return nil, readErr
		case stored.State.Ended(): // by the other one, meanwhile
			return nil, hasEnded(stored)
		}
		if held.Owner != "" && stored.Lease != held {
			return nil, atWork(id, err)
		}
		if held.Owner == "" {
			d.view.note("33", "waiting", fmt.Sprintf("%s had the run; its lease runs out in %v", ownerText(stored.Lease.Owner), time.Until(stored.Lease.Expires).Round(time.Second)))
		}
		held = stored.Lease
		if err := sleep(ctx, min(time.Until(held.Expires)+10*time.Millisecond, leaseCheck)); err != nil {
			return nil, err
		}
	}
}

// atWork says what can be done about a run that another process drives.
func atWork(id session.ID, err error) error {
	return &hinted{err, fmt.Sprintf("it is at work: rath runs show %s; to end it: rath runs cancel %[1]s", id)}
}

// leaseCheck is longer than a process that lives lets pass between two renewals.
const leaseCheck = 2 * time.Second

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ownerText makes words of the name that a runner goes by: host/machine/process/number.
func ownerText(owner string) string {
	parts := strings.Split(owner, "/")
	if len(parts) != 4 {
		return owner
	}
	return "process " + parts[2] + " on " + parts[0]
}
