package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
	"github.com/spf13/cobra"
)

// batchFlags are the settings of a batch.
type batchFlags struct {
	runFlags
	batchOptions
	skip string
}

// batchOptions are those that are kept with its run.
type batchOptions struct {
	Parallel int    `json:"parallel"`
	Rate     int    `json:"rate,omitempty"` // requests a minute; 0: no limit
	Share    bool   `json:"share,omitempty"`
	AskLater bool   `json:"ask_later,omitempty"`
	Out      string `json:"out,omitempty"` // absolute; empty: stdout
}

func (a *app) batchCommand() *cobra.Command {
	var f batchFlags
	cmd := &cobra.Command{
		Use:   "batch [flags] FILE.jsonl",
		Short: "Give an agent many messages, several at a time",
		Long: `Batch gives an agent each line of a file, several at a time. - is stdin. A line is a JSON
string, the message, or an object:

  {"id": "a name for it", "prompt": "the message", "session": "ID", "meta": {...}}

An id is the line's number unless it is given; no two lines may have the same. A session
is continued, with the prompt if there is one. What is in meta comes back with the result.
All lines are checked before the first one is begun.

The results are JSON lines in the order of the file, on stdout or in the file that --out
names: id, line, status (done or failed), text, session, usage, error and meta. A line that
fails does not stop the others; the exit code is 1 then.

A batch is one run. One that was interrupted or killed goes on with rath resume, which
writes all results anew: what was finished comes from the record. To do again what failed,
give the results to --skip: what is done by them is left out.

Where the workspace can be forked each line works in a fork of its own, and nothing changes
the workspace itself: rath fork SESSION --workspace has the files of a result. With --share
all work in the workspace.`,
		Example: `  rath batch questions.jsonl --tools none --out answers.jsonl
  rath batch questions.jsonl --model openai:gpt-5.5 --parallel 64 --rate 500 --out answers.jsonl
  rath batch questions.jsonl -f review.yaml --out reviews.jsonl
  rath batch questions.jsonl --skip answers.jsonl --out more.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := f.useFlow(a, cmd.Flags())
			if err == nil {
				err = f.check(cmd.Flags().Changed)
			}
			if err != nil {
				return usageOf(cmd, err)
			}
			return a.batch(cmd.Context(), f, args[0])
		},
	}
	f.flags(cmd)
	return cmd
}

func (f *batchFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "model, as for rath run")
	flags.StringVar(&f.baseURL, "base-url", "", "address of the model's server")
	flags.StringVarP(&f.file, "file", "f", "", "run the agents and workflows of this file of YAML on each line")
	flags.StringVar(&f.system, "system", "", "system prompt, or @FILE")
	flags.StringVar(&f.tools, "tools", "all", "tools to offer: all, read, none, or names with commas")
	flags.StringVar(&f.sandbox, "sandbox", "local:.", "where the tools run: "+sandboxURLs)
	flags.IntVar(&f.maxSteps, "max-steps", flow.DefaultMaxSteps, "rounds of tool calls of a line")
	flags.DurationVar(&f.timeout, "timeout", 0, "end the batch after this time (0: never)")
	flags.BoolVar(&f.snapshots, "snapshots", true, "keep the workspace's files as they are before and after each call that can change them")
	flags.IntVar(&f.Parallel, "parallel", flow.DefaultParallel, "lines to work on at a time")
	flags.IntVar(&f.Rate, "rate", 0, "requests to the model a minute, a minute's worth of them at once (0: no limit)")
	flags.BoolVar(&f.Share, "share", false, "have all lines work in the workspace itself")
	flags.StringVar(&f.Out, "out", "", "file for the results, which must not be there yet (default: stdout)")
	flags.StringVar(&f.skip, "skip", "", "results of an earlier batch: what it has done is left out")
	f.consent.flags(cmd)
	f.rules.flags(cmd)
	f.memory.flags(cmd)
}

func (f batchFlags) check(given func(flag string) bool) error {
	switch {
	case f.Parallel < 1:
		return errors.New("--parallel must be at least 1")
	case f.Rate < 0:
		return fmt.Errorf("--rate %d is less than nothing", f.Rate)
	case given("out") && f.Out == "":
		return errors.New("--out is empty: leave it out, or give it a value")
	case given("skip") && f.skip == "":
		return errors.New("--skip is empty: leave it out, or give it a value")
	}
	return f.runFlags.check(given)
}

func (a *app) batch(ctx context.Context, f batchFlags, file string) error {
	items, err := a.readBatch(ctx, file, f.skip)
	if err != nil {
		return err
	}
	home, c, err := a.home()
	if err != nil {
		return err
	}
	models, err := f.choose(a, c)
	if err != nil {
		return err
	}
	if f.tools == "none" && !f.rules.given("sandbox") {
		f.sandbox = "none"
	}
	s := batchSpec{batchOptions: f.batchOptions}
	if s.spec, err = f.spec(a, models.first(), home); err != nil {
		return err
	}
	if f.flow != nil {
		if err = s.useFlow(f.flow, models); err == nil {
			s.Flow.Servers, err = configuredServers(a, f.flow)
		}
		if err != nil {
			return err
		}
	}
	s.AskLater = f.consent.askLater
	if s.Out != "" {
		if s.Out, err = filepath.Abs(s.Out); err != nil {
			return err
		}
	}
	model, err := s.openLimited(models, none)
	if err != nil {
		return err
	}
	return a.useRecords(ctx, adding, func(r *records) error {
		in, err := r.batchInput(ctx, file, items)
		if err != nil {
			return err
		}
		d, err := a.newBatch(ctx, r, s, model, f.consent.newBatch)
		if err != nil {
			return err
		}
		defer d.close()
		return d.begin(ctx, in, f.timeout)
	})
}

// openLimited opens the models. All lines wait together when a server asks for it, and keep
// to a rate of requests a minute if there is one.
func (s *batchSpec) openLimited(models cast, given func(model string) int) (llm.Model, error) {
	first, err := s.openCast(models, given)
	if err != nil {
		return nil, err
	}
	limiter := &llm.Limiter{Requests: s.Rate}
	if s.Flow == nil {
		return limited(first, limiter), nil
	}
	for name, m := range s.Flow.models {
		s.Flow.models[name] = limited(m, limiter)
	}
	return limited(first, limiter), nil
}

// limited puts a limit within retries, so that each attempt counts.
func limited(m llm.Model, limiter *llm.Limiter) llm.Model {
	if r, ok := m.(*llm.Retry); ok {
		within := *r
		within.Model = &llm.Limit{Model: r.Model, Limiter: limiter}
		return &within
	}
	return &llm.Limit{Model: m, Limiter: limiter}
}

// shares reports whether the lines work in one workspace: also where no tool can change it.
func (s batchSpec) shares() bool {
	if s.Flow != nil {
		return s.Share
	}
	for _, name := range s.Tools {
		if t := builtin.All().Find(name); t == nil || t.Class != effect.ReadOnly {
			return s.Share
		}
	}
	return true
}

// newBatch is who decides in a batch that begins: nobody is asked while it goes on.
func (c consent) newBatch(*app, *view) deciding {
	switch {
	case c.yes:
		return deciding{approver: tool.AllowAll}
	case c.askLater:
		return deciding{approver: flow.AskFirst}
	}
	return deciding{approver: refuseUnasked}
}

// resumedBatch is that of one that goes on: as it began, but for a --yes that is not given
// again. What that would have allowed waits for a decision.
func (c consent) resumedBatch(s batchSpec, asked map[string]bool) deciding {
	switch {
	case c.yes:
		return deciding{allowUnasked(asked), approveCalls}
	case s.Yes || s.AskLater || c.askLater || len(asked) > 0:
		return deciding{approver: flow.AskFirst}
	}
	return deciding{approver: refuseUnasked}
}
