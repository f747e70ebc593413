package cli

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/store"
	"github.com/spf13/cobra"
)

// answer are the flags of a decision.
type answer struct {
	approve, reject       bool
	reason, edit, respond string
}

func (a *app) runsDecideCommand() *cobra.Command {
	var f answer
	cmd := &cobra.Command{
		Use:   "decide RUN [KEY]",
		Short: "Answer a question of a run",
		Long: `Answer a question of a run, once. The questions are those that rath runs show lists; KEY
may be left out where only one is open, and be shortened to a part that no other has. A
run that was put down goes on with rath resume.`,
		Example: `  rath runs decide @ --approve
  rath runs decide 0198c0de call_1_0 --reject --reason "not in this folder"
  rath runs decide 0198c0de --edit '{"cmd":"ls -l"}'`,
		Args: cobra.RangeArgs(1, 2),
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.approve, "approve", false, "yes")
	flags.BoolVar(&f.reject, "reject", false, "no")
	flags.StringVar(&f.reason, "reason", "", "why, for the model; with --approve or --reject")
	flags.StringVar(&f.edit, "edit", "", "yes, but with these arguments, in JSON")
	flags.StringVar(&f.respond, "respond", "", "the text of an answer, where one is asked for")
	cmd.PreRunE = exactlyOne("approve", "reject", "edit", "respond")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d := f.decision()
		if f.reason != "" && !f.approve && !f.reject {
			return usageOf(cmd, errors.New("--reason goes with --approve or --reject"))
		}
		if err := d.Check(); err != nil {
			return usageOf(cmd, err)
		}
		return a.useRecords(cmd.Context(), changing, func(r *records) error { return a.decide(cmd.Context(), r, args, d) })
	}
	return cmd
}

func (f answer) decision() flow.Decision {
	d := flow.Decision{By: userName(), Text: f.reason}
	switch {
	case f.approve:
		d.Verdict = flow.Approve
	case f.reject:
		d.Verdict = flow.Reject
	case f.respond != "":
		d.Verdict, d.Text = flow.Respond, f.respond
	default:
		d.Verdict, d.Arguments = flow.Edit, f.edit
	}
	return d
}

func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

func (a *app) decide(ctx context.Context, r *records, args []string, d flow.Decision) error {
	stored, err := r.run(ctx, args[0])
	if err != nil {
		return err
	}
	questions, err := collect(r.Interrupts(ctx, stored.ID))
	if err != nil {
		return err
	}
	q, err := pick(stored, questions, args[1:])
	if err != nil {
		return err
	}
	if stored.State.Ended() {
		return hasEnded(stored)
	}
	if err := a.runner(r, run.Options{}).Decide(ctx, stored.ID, q.Key, d); err != nil {
		return decideHint(stored, err)
	}
	left := slices.DeleteFunc(openQuestions(questions), func(o store.Interrupt) bool { return o.Key == q.Key })
	return a.decided(stored, q, d, left)
}

func decideHint(r store.Run, err error) error {
	if errors.Is(err, store.ErrDecided) {
		return &hinted{err, "rath runs show " + r.ID.String() + " shows how"}
	}
	return err
}

func openQuestions(all []store.Interrupt) (open []store.Interrupt) {
	now := time.Now()
	for _, q := range all {
		if q.Open(now) {
			open = append(open, q)
		}
	}
	return open
}

// pick finds the question that is meant: by its key, a part of it, or as the only one.
func pick(r store.Run, all []store.Interrupt, key []string) (store.Interrupt, error) {
	open := openQuestions(all)
	if len(key) > 0 {
		if i := slices.IndexFunc(all, func(q store.Interrupt) bool { return q.Key == key[0] }); i >= 0 {
			return all[i], nil
		}
		open = slices.DeleteFunc(open, func(q store.Interrupt) bool { return !strings.Contains(q.Key, key[0]) })
	}
	show := "rath runs show " + r.ID.String() + " lists the questions"
	switch {
	case len(open) == 1:
		return open[0], nil
	case len(open) > 1:
		var keys []string
		for _, q := range open {
			keys = append(keys, q.Key)
		}
		return store.Interrupt{}, usage(&hinted{fmt.Errorf("run %s has %d open questions: name one", r.ID, len(open)), "the keys are " + strings.Join(keys, ", ")})
	case len(key) > 0:
		return store.Interrupt{}, &hinted{fmt.Errorf("run %s has no open question %q", r.ID, key[0]), show}
	}
	return store.Interrupt{}, &hinted{fmt.Errorf("run %s asks nothing", r.ID), show}
}

// decided says what was decided, and what comes next.
func (a *app) decided(r store.Run, q store.Interrupt, d flow.Decision, left []store.Interrupt) error {
	if a.asJSON {
		return a.writeJSON(map[string]any{"run": r.ID, "key": q.Key, "decision": d, "left": len(left)})
	}
	fmt.Fprintf(a.out, "%s: %s\n", printable(q.Key), d.Verdict)
	switch {
	case len(left) > 0:
		fmt.Fprintf(a.err, "%s left: rath runs show %s\n", plural(len(left), "question"), r.ID)
	case r.State != store.Running:
		fmt.Fprintf(a.err, "to go on: rath resume %s\n", r.ID)
	}
	return nil
}
