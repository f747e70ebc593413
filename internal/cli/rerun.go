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

func (a *app) rerunCommand() *cobra.Command {
	var o overrides
	var who consent
	var rules rules
	var from int64
	var memory string
	var servers []string
	var budget budgetFlags
	var permits permits
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
		return a.rerun(ctx, r, args[0], from, o, who, rules, memory, servers, budget, permits)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmp.Or(rules.check(), budget.check(), permits.check(false)); err != nil {
			return usageOf(cmd, err)
		}
		return drive(cmd, args)
	}
	o.flags(cmd)
	who.flags(cmd)
	permits.flags(cmd)
	budget.flags(cmd)
	rules.flags(cmd)
	cmd.Flags().Lookup("isolation").DefValue = "" // it is the other run's
	cmd.Flags().StringVar(&o.baseURL, "base-url", "", "address of the model's server")
	cmd.Flags().StringVar(&memory, "memory", "", "another memory, as for rath run, or none")
	cmd.Flags().StringArrayVar(&servers, "mcp", nil, "other MCP servers, as for rath run, or none")
	cmd.Flags().Int64Var(&from, "from", 0, "the number of the first effect that is done anew")
	return cmd
}

func (a *app) rerun(ctx context.Context, r *records, text string, from int64, o overrides, who consent, rules rules, memory string, servers []string, budget budgetFlags, permits permits) error {
	stored, err := r.run(ctx, text)
	if err != nil {
		return err
	}
	s, err := specOf(stored)
	if err != nil {
		return err
	}
	s.Place = s.place()
	if err := errors.Join(a.examineRules(s.Place), a.examineFlow(s), a.examinePolicy(s)); err != nil {
		return err
	}
	if err := s.rebudget(budget, from); err != nil {
		return err
	}
	s.Policy = permits.with(s.Policy).orNil()
	if err := s.begin(rules); err != nil {
		return err
	}
	effects, err := r.effects(ctx, stored.ID)
	if err != nil {
		return err
	}
	if from != 0 && !slices.ContainsFunc(effects, func(x *store.Effect) bool { return x.ID == from }) {
		return usage(&hinted{fmt.Errorf("run %s has no effect %d", stored.ID, from), "rath runs show " + stored.ID.String() + " numbers them"})
	}
	given := s.givenBefore(effects, from)
	models, err := o.cast(a, &s)
	if err != nil {
		return err
	}
	if err := o.apply(&s); err != nil {
		return err
	}
	if err := errors.Join(s.rechoose(a, memory), s.rechooseMCP(a, servers)); err != nil {
		return err
	}
	model, err := s.openCast(models, given, nil)
	if err != nil {
		return err
	}
	d, err := a.newDrive(ctx, r, s, model, who.newRun)
	if err != nil {
		return err
	}
	defer d.close()
	d.alone = d.who.decider == nil && !who.askLater
	d.announce()
	id, _ := session.NewID()
	options, err := d.options(id)
	if err != nil {
		return err
	}
	return d.run(ctx, id, func(ctx context.Context) (*run.Handle, error) {
		return d.runner.Rerun(ctx, stored.ID, d.program, from, options...)
	})
}
