package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/spf13/cobra"
)

// rerunFlags are what a rerun may have otherwise than the run that it takes over.
type rerunFlags struct {
	overrides
	consent consent
	permits permits
	budget  budgetFlags
	rules   rules
	memory  string
	servers []string
	from    int64
}

func (f *rerunFlags) flags(cmd *cobra.Command) {
	f.overrides.flags(cmd)
	f.consent.flags(cmd)
	f.permits.flags(cmd)
	f.budget.flags(cmd)
	f.rules.flags(cmd)
	cmd.Flags().Lookup("isolation").DefValue = "" // it is the other run's
	cmd.Flags().StringVar(&f.baseURL, "base-url", "", "address of the model's server")
	cmd.Flags().StringVar(&f.memory, "memory", "", "another memory, as for rath run, or none")
	cmd.Flags().StringArrayVar(&f.servers, "mcp", nil, "other MCP servers, as for rath run, or none")
	cmd.Flags().Int64Var(&f.from, "from", 0, "the number of the first effect that is done anew")
}

func (f rerunFlags) check() error {
	return cmp.Or(f.rules.check(), f.budget.check(), f.permits.check(false))
}

func (a *app) rerunCommand() *cobra.Command {
	var f rerunFlags
	cmd := &cobra.Command{
		Use:   "rerun ID",
		Short: "Begin a new run that takes over a part of another one's record",
		Long: `Rerun begins a new run on a fork of another run's input. What that run had recorded
before its effect N is taken over; from there on all is live. Without --from everything
is. The effects' numbers are those of rath runs show.

Commands are kept to the rules that the other run was begun with, unless flags set others.
The strongest level is chosen anew.

Its budget is the other run's, but for the limits that flags set. What is taken over counts
as spent, but for the time: a limit of that does not hold with --from. The other run's
rules for calls hold, and those of --allow, --ask and --deny besides.

The ID is that of a run, or of a session that a run has made. ` + idHelp,
		Example: "  rath rerun @ --from 6\n  rath rerun 0198c0de --model openai:gpt-5.5",
		Args:    cobra.ExactArgs(1),
	}
	drive := a.withRecords(changing, func(ctx context.Context, r *records, args []string) error {
		return a.rerun(ctx, r, args[0], f)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return usageOf(cmd, err)
		}
		return drive(cmd, args)
	}
	f.flags(cmd)
	return cmd
}

func (a *app) rerun(ctx context.Context, r *records, text string, f rerunFlags) error {
	stored, err := r.run(ctx, text)
	if err != nil {
		return err
	}
	if stored.Name == batchName {
		return notRerun(stored)
	}
	s, err := a.respec(stored, f)
	if err != nil {
		return err
	}
	effects, err := r.effects(ctx, stored.ID)
	if err != nil {
		return err
	}
	if f.from != 0 && !slices.ContainsFunc(effects, func(x *store.Effect) bool { return x.ID == f.from }) {
		return usage(&hinted{fmt.Errorf("run %s has no effect %d", stored.ID, f.from), "rath runs show " + stored.ID.String() + " numbers them"})
	}
	given := s.givenBefore(effects, f.from)
	models, err := f.cast(a, &s)
	if err != nil {
		return err
	}
	if err := errors.Join(f.apply(&s), s.rechoose(a, f.memory), s.rechooseMCP(a, f.servers)); err != nil {
		return err
	}
	model, err := s.openCast(models, given, nil)
	if err != nil {
		return err
	}
	d, err := a.newDrive(ctx, r, s, model, f.consent.newRun)
	if err != nil {
		return err
	}
	defer d.close()
	d.alone = d.who.decider == nil && !f.consent.askLater
	d.announce()
	id, _ := session.NewID()
	options, err := d.options(id)
	if err != nil {
		return err
	}
	return d.run(ctx, id, func(ctx context.Context) (*run.Handle, error) {
		return d.runner.Rerun(ctx, stored.ID, d.program, f.from, options...)
	})
}

// respec is the spec of a run with the rules, the budget and the policy of a rerun.
func (a *app) respec(stored store.Run, f rerunFlags) (spec, error) {
	s, err := specOf(stored)
	if err != nil {
		return s, err
	}
	s.Place = s.place()
	if err := errors.Join(a.examineRules(s.Place), a.examineFlow(s), a.examinePolicy(s)); err != nil {
		return s, err
	}
	if err := s.rebudget(f.budget, f.from); err != nil {
		return s, err
	}
	s.Policy = f.permits.with(s.Policy).orNil()
	err = s.begin(f.rules)
	return s, err
}
