package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/store"
	"github.com/spf13/cobra"
)

func (a *app) runsSettleCommand() *cobra.Command {
	var result string
	var notDone, abort bool
	cmd := &cobra.Command{
		Use:   "settle RUN EFFECT",
		Short: "Say what became of an effect whose end nobody saw",
		Long: `Settle an effect that may have happened or not, because the process was killed or the
run interrupted while it was under way. Look what is there, then say it: it happened and
gave this result; it did not happen, and is done again; or the run is to end.

EFFECT is its number in rath runs show. When all are settled the run goes on with rath
resume. ` + idHelp,
		Example: `  rath runs settle @ 6 --not-done
  rath runs settle 0198c0de 6 --result '{"exit_code":0,"stdout":"","stderr":""}'`,
		Args: cobra.ExactArgs(2),
	}
	flags := cmd.Flags()
	flags.StringVar(&result, "result", "", "it happened, and gave this JSON")
	flags.BoolVar(&notDone, "not-done", false, "it did not happen: it is done again")
	flags.BoolVar(&abort, "abort", false, "end the run")
	cmd.PreRunE = exactlyOne("result", "not-done", "abort")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s := store.Settled{By: userName(), Verdict: store.VerdictResult, Value: json.RawMessage(result)}
		switch {
		case notDone:
			s.Verdict, s.Value = store.VerdictNotDone, nil
		case abort:
			s.Verdict, s.Value = store.VerdictAbort, nil
		case !json.Valid([]byte(result)):
			return usageOf(cmd, errors.New("--result is not JSON; a text needs its quotes: '\"done\"'"))
		}
		var err error
		if s.Effect, err = strconv.ParseInt(args[1], 10, 64); err != nil {
			return usageOf(cmd, fmt.Errorf("effect %q is no number", args[1]))
		}
		return a.useRecords(cmd.Context(), changing, func(r *records) error { return a.settle(cmd.Context(), r, args[0], s) })
	}
	return cmd
}

func (a *app) settle(ctx context.Context, r *records, text string, s store.Settled) error {
	stored, err := r.run(ctx, text)
	if err != nil {
		return err
	}
	if stored.State.Ended() {
		return hasEnded(stored)
	}
	switch err := a.runner(r, run.Options{}).Settle(ctx, stored.ID, s); {
	case errors.Is(err, store.ErrLeased):
		return atWork(stored.ID, err)
	case err != nil:
		return &hinted{err, "rath runs show " + stored.ID.String() + " lists what needs a review"}
	}
	if err := a.changed(ctx, r, stored.ID); err != nil || a.asJSON {
		return err
	}
	now, err := r.Run(ctx, stored.ID)
	if err == nil && now.State == store.Queued {
		fmt.Fprintf(a.err, "to go on: rath resume %s\n", stored.ID)
	}
	return err
}
