package cli

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/flowfile"
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
	Parallel   int    `json:"parallel"`
	Rate       int    `json:"rate,omitempty"`        // requests to a provider a minute; 0: no limit
	RateTokens int    `json:"rate_tokens,omitempty"` // tokens
	Share      bool   `json:"share,omitempty"`
	AskLater   bool   `json:"ask_later,omitempty"`
	Out        string `json:"out,omitempty"` // absolute; empty: stdout
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

A budget is that of all lines together: once it is spent the rest fail, the exit code is 5.

A batch is one run. One that was interrupted or killed goes on with rath resume, which
writes all results anew: what was finished comes from the record. To do again what failed,
give the results to --skip: what is done by them is left out.

Where the workspace can be forked each line works in a fork of its own, and nothing changes
the workspace itself: rath fork SESSION --workspace has the files of a result. With --share
all work in the workspace.

An MCP server is started once, whatever the number of lines, and has none of their forks.`,
		Example: `  rath batch questions.jsonl --tools none --out answers.jsonl
  rath batch questions.jsonl --model openai:gpt-5.5 --parallel 64 --rate 500 --rate-tokens 200000 --out answers.jsonl
  rath batch questions.jsonl -f review.yaml --out reviews.jsonl
  rath batch questions.jsonl --mcp https://mcp.example/mcp --out answers.jsonl
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
	flags.IntVar(&f.Rate, "rate", 0, "requests to a model's provider a minute, a minute's worth of them at once (0: no limit)")
	flags.IntVar(&f.RateTokens, "rate-tokens", 0, "tokens of a model's provider a minute, those of messages and replies (0: no limit)")
	flags.BoolVar(&f.Share, "share", false, "have all lines work in the workspace itself")
	flags.StringVar(&f.Out, "out", "", "file for the results, which must not be there yet (default: stdout)")
	flags.StringVar(&f.skip, "skip", "", "results of an earlier batch: what it has done is left out")
	f.consent.flags(cmd)
	f.permits.flags(cmd)
	f.budget.flags(cmd)
	f.rules.flags(cmd)
	f.memory.flags(cmd)
	f.mcp.flags(cmd)
}

func (f batchFlags) check(given func(flag string) bool) error {
	switch {
	case f.Parallel < 1:
		return errors.New("--parallel must be at least 1")
	case f.Rate < 0 || f.RateTokens < 0:
		return errors.New("--rate and --rate-tokens cannot be less than nothing")
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
	if f.tools == "none" && !f.rules.given("sandbox") && !f.mcp.Sandbox {
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
	} else {
		s.MCP, err = f.mcp.choose(a, s.Sandbox)
	}
	if err = errors.Join(err, s.checkServers(f.flow)); err != nil {
		return err
	}
	s.AskLater = f.consent.askLater
	if s.Out != "" {
		if s.Out, err = filepath.Abs(s.Out); err != nil {
			return err
		}
	}
	if err := f.permits.check(s.MCP == nil && (f.flow == nil || len(f.flow.Servers()) == 0)); err != nil {
		return err
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

// openLimited opens the models. All lines keep together to what is allowed of each provider
// in a minute, and wait together when one asks for it.
func (s *batchSpec) openLimited(models cast, given func(model string) int) (llm.Model, error) {
	var limiters llm.Limiters
	return s.openCast(models, given, func(c choice, m llm.Model) llm.Model {
		return &llm.Limit{Model: m, Limiter: limiters.Of(c.scheme+" "+c.provider.BaseURL, s.Rate, s.RateTokens)}
	})
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

// checkServers refuses MCP servers in the sandbox where each line has a fork of it: a
// server is one for all lines, and would change none of the forks.
func (s batchSpec) checkServers(f *flowfile.File) error {
	in := ""
	if s.MCP != nil && s.MCP.Sandbox {
		in = "--mcp-sandbox"
	}
	if f != nil {
		for name, server := range f.Servers() {
			if server != nil && server.InSandbox {
				in = "sandbox of the server " + name
			}
		}
	}
	if in == "" || s.shares() {
		return nil
	}
	return usage(&hinted{errors.New(in + ": a server is one for all lines, and each of them has a workspace of its own"), "--share has all of them, and the server, work in the workspace itself"})
}

// newBatch is who decides in a batch that begins: nobody is asked while it goes on.
func (c consent) newBatch(*app, *view) deciding {
	switch {
	case c.yes:
		return deciding{approver: unlessRuled(tool.AllowAll, refuseUnasked)}
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
		return deciding{unlessRuled(allowUnasked(asked), flow.AskFirst), approveCalls(nil)}
	case s.Yes || s.AskLater || c.askLater || len(asked) > 0:
		return deciding{approver: flow.AskFirst}
	}
	return deciding{approver: refuseUnasked}
}
