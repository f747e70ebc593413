package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/flowfile"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// budgetSpec is what a run may spend; what is zero has no limit.
type budgetSpec struct {
	Tokens    int64         `json:"tokens,omitempty"`
	Cost      dollars       `json:"cost_nano_usd,omitempty"`
	Calls     int64         `json:"calls,omitempty"`
	ToolCalls int64         `json:"tool_calls,omitempty"`
	Time      time.Duration `json:"time_ns,omitempty"`
}

// budgetFlags are the flags of a budget and of what models cost.
type budgetFlags struct {
	budgetSpec
	prices string
	given  func(flag string) bool
}

// limit is one of the flags, and what of a budget it sets.
type limit struct {
	flag string
	add  func(f *pflag.FlagSet, flag string, b *budgetSpec)
	set  func(to *budgetSpec, from budgetSpec)
	less func(b budgetSpec) bool // than nothing
}

const budgetTime = "budget-time"

// limitFlags are all of them.
var limitFlags = []limit{
	{"budget-tokens", func(f *pflag.FlagSet, flag string, b *budgetSpec) {
		f.Int64Var(&b.Tokens, flag, 0, "end the run when so many tokens are spent, those of prompts and replies together (0: no limit)")
	}, func(to *budgetSpec, from budgetSpec) { to.Tokens = from.Tokens }, func(b budgetSpec) bool { return b.Tokens < 0 }},
	{"budget-cost", func(f *pflag.FlagSet, flag string, b *budgetSpec) {
		f.Var(&b.Cost, flag, "end the run when so many US dollars are spent; each model needs a price then (0: no limit)")
	}, func(to *budgetSpec, from budgetSpec) { to.Cost = from.Cost }, func(b budgetSpec) bool { return b.Cost < 0 }},
	{"budget-calls", func(f *pflag.FlagSet, flag string, b *budgetSpec) {
		f.Int64Var(&b.Calls, flag, 0, "end the run after so many calls of models (0: no limit)")
	}, func(to *budgetSpec, from budgetSpec) { to.Calls = from.Calls }, func(b budgetSpec) bool { return b.Calls < 0 }},
	{"budget-tool-calls", func(f *pflag.FlagSet, flag string, b *budgetSpec) {
		f.Int64Var(&b.ToolCalls, flag, 0, "end the run before it makes more calls of tools (0: no limit)")
	}, func(to *budgetSpec, from budgetSpec) { to.ToolCalls = from.ToolCalls }, func(b budgetSpec) bool { return b.ToolCalls < 0 }},
	{budgetTime, func(f *pflag.FlagSet, flag string, b *budgetSpec) {
		f.DurationVar(&b.Time, flag, 0, "ask no model any more after this time; a tool at work may end what it does (0: no limit)")
	}, func(to *budgetSpec, from budgetSpec) { to.Time = from.Time }, func(b budgetSpec) bool { return b.Time < 0 }},
}

func (b *budgetFlags) flags(cmd *cobra.Command) {
	for _, l := range limitFlags {
		l.add(cmd.Flags(), l.flag, &b.budgetSpec)
	}
	cmd.Flags().StringVar(&b.prices, "prices", "", "a file with prices of models, over those that are built in, in the form of llm/prices.json")
	b.given = cmd.Flags().Changed
}

// isGiven reports whether a flag is given, of a command that has it.
func (b budgetFlags) isGiven(flag string) bool { return b.given != nil && b.given(flag) }

// check refuses what cannot be meant.
func (b budgetFlags) check() error {
	for _, l := range limitFlags {
		if l.less(b.budgetSpec) {
			return fmt.Errorf("--%s is less than nothing", l.flag)
		}
	}
	if b.isGiven("prices") && b.prices == "" {
		return errors.New("--prices is empty: leave it out, or give it a value")
	}
	return nil
}

// over returns a budget with what flags say in place of its own; nil: there is none.
func (b budgetFlags) over(old *budgetSpec) *budgetSpec {
	var s budgetSpec
	if old != nil {
		s = *old
	}
	for _, l := range limitFlags {
		if b.isGiven(l.flag) {
			l.set(&s, b.budgetSpec)
		}
	}
	if s == (budgetSpec{}) {
		return nil
	}
	return &s
}

// maxPrices is far more than there are models.
const maxPrices = 4 << 20

// readPrices reads the file of --prices, which is kept with the run.
func (b budgetFlags) readPrices() (json.RawMessage, error) {
	if b.prices == "" {
		return nil, nil
	}
	data, err := readBounded(b.prices, maxPrices+1)
	if err == nil && len(data) > maxPrices {
		err = fmt.Errorf("%s is longer than %d MiB", b.prices, maxPrices>>20)
	}
	if err == nil {
		_, err = llm.ParsePrices(data)
	}
	var kept bytes.Buffer
	if err == nil {
		err = json.Compact(&kept, data)
	}
	if err != nil {
		return nil, usage(&hinted{fmt.Errorf("read --prices: %w", err), `dollars for a million tokens: {"models":{"openai:NAME":{"input":1.25,"output":10}}}`})
	}
	return kept.Bytes(), nil
}

func budgetsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "budgets",
		Short: "What a run may spend, and what happens when it has",
		Long: `The flags --budget-tokens, --budget-cost, --budget-calls, --budget-tool-calls and
--budget-time limit what a run may spend: all its agents and branches together, and in a
batch all lines together. A flow's file has the same words under budget:, for all of it or
for a workflow in it. Where there are both, both hold.

Before each call of a model what it may take is set aside: its messages, as estimated, and
the longest reply. Branches that run at once cannot overshoot together so; at most one call
goes beyond the limit. How long a reply may be is max_tokens of the model's settings; without
one, 4096 tokens are set aside for it.

A run whose budget is spent ends with exit code 5. The message says what was spent; the
session is kept as far as it got, and rath run --session goes on from it. rath rerun RUN
--from N goes on where the budget ended it, with a greater one.

rath resume goes on within the same budget: what was spent before counts, and so does what
was set aside for a call that was lost with its process. The time for which the run was put
down counts, too. rath rerun has the budget of the other run, but for the limits that flags
set. What it takes over with --from counts as spent; without --from nothing does.

Costs come from the server, or else from a table of prices that is built in. --prices FILE
has more of them, and others for the same models, in dollars for a million tokens:

  {"models": {"openai:my-model": {"input": 1.25, "cache_read": 0.125, "output": 10}}}

A model that is not in the table has no price, and a run with a budget of money does not
begin then. --budget-time ends a call of a model, and not one of a tool; --timeout ends both.`,
	}
}

// dollars are billionths of a US dollar, as a flag.
type dollars int64

// mostDollars is more than a run can cost, and its billionths are a number.
const mostDollars = 1_000_000

// leastDollars is what costs are counted in: less would be none, and so no limit.
const leastDollars = 1e-9

// Set reads a number of dollars.
func (d *dollars) Set(text string) error {
	n, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
	if err != nil || !(n >= 0 && n <= mostDollars) {
		return fmt.Errorf("it is no number of dollars from 0 to %d, such as 0.50", mostDollars)
	}
	if n > 0 && n < leastDollars {
		return errors.New("less than a billionth of a dollar cannot be counted; 0 is no limit")
	}
	*d = dollars(n*1e9 + 0.5)
	return nil
}

func (d *dollars) String() string { return strconv.FormatFloat(float64(*d)/1e9, 'f', -1, 64) }

// Type is the word for it in the help.
func (*dollars) Type() string { return "dollars" }

// table are the prices of a spec: what is built in, and over it what the run was given.
func (s spec) table() (*llm.Prices, error) {
	p, err := llm.LoadPrices("")
	if err != nil || s.Prices == nil {
		return p, err
	}
	own, err := llm.ParsePrices(s.Prices)
	if err != nil {
		return nil, fmt.Errorf("read the prices of the run: %w", err)
	}
	return p.With(own), nil
}

// budget is that of a spec.
func (s spec) budget() (flow.Budget, error) {
	b := s.Budget
	out := flow.Budget{Tokens: b.Tokens, Calls: b.Calls, ToolCalls: b.ToolCalls, Time: b.Time, Cost: session.Cost{Nano: int64(b.Cost)}}
	if b.Cost == 0 {
		return out, nil
	}
	var err error
	out.Prices, err = s.table()
	return out, err
}

// capped is a workflow within the budget of a spec, if it has one.
func (s spec) capped(w flow.Workflow) (flow.Workflow, error) {
	if s.Budget == nil {
		return w, nil
	}
	b, err := s.budget()
	return &flowfile.Capped{Budget: b, Body: w}, err
}

// announceBudget tells what the run may spend.
func (d *drive) announceBudget() {
	if d.spec.Budget == nil || d.a.asJSON {
		return
	}
	if b, err := d.spec.budget(); err == nil { // whoever built the workflow has told
		d.view.note("2", "budget", flowfile.LimitsText(b))
	}
}

// priced refuses budgets of money where the price of a model is not known.
func priced(w flow.Workflow) error {
	for _, below := range flow.Inspect(w) {
		c, ok := below.(interface{ CheckPrices() error })
		if !ok {
			continue
		}
		if err := c.CheckPrices(); err != nil {
			return usage(&hinted{err, "--prices FILE says what it costs, in dollars for a million tokens: {\"models\":{\"openai:NAME\":{\"input\":1.25,\"output\":10}}}; or limit tokens instead of money"})
		}
	}
	return nil
}

// inside puts something around a model, within its retries: so it sees each attempt.
func inside(m llm.Model, put func(llm.Model) llm.Model) llm.Model {
	if r, ok := m.(*llm.Retry); ok {
		within := *r
		within.Model = put(r.Model)
		return &within
	}
	return put(m)
}

// rebudget makes the budget that of a rerun. What is taken over was done within a budget or
// without one, and the time that it took is over.
func (s *spec) rebudget(flags budgetFlags, from int64) error {
	old, now := s.Budget, flags.over(s.Budget)
	const anew = "without --from all of it is done anew, within any budget"
	switch {
	case from == 0:
	case flags.isGiven(budgetTime):
		return usage(&hinted{errors.New("--budget-time: what is taken over has had its time"), anew})
	case (now == nil) != (old == nil):
		return usage(&hinted{errors.New("what is taken over was done with a budget or without one, and that cannot be changed"), anew})
	case now != nil:
		now.Time = 0
	}
	prices, err := flags.readPrices()
	s.Budget = now
	if prices != nil {
		s.Prices = prices
	}
	return err
}

// overspent says how to go on where a budget was spent.
func (d *drive) overspent(id session.ID, err error) error {
	var spent *flow.BudgetError
	if !errors.As(err, &spent) {
		return err
	}
	var at *flow.Error
	hint := "its session is kept"
	if errors.As(err, &at) && !at.Session.IsZero() {
		hint = "rath run --session " + at.Session.String() + " MESSAGE continues what was done"
	}
	switch effect := d.refused(id); {
	case spent.Name != "":
		hint = "allow more in the budget of " + spent.Name + "; " + hint
	case spent.Limit == "time" || effect == 0:
		hint = "rath rerun " + id.String() + " --" + limitFlag(spent.Limit) + " MORE begins it anew; " + hint
	default:
		hint = fmt.Sprintf("rath rerun %s --from %d --%s MORE goes on there; %s", id, effect, limitFlag(spent.Limit), hint)
	}
	return &hinted{err, hint}
}

// limitFlag is the flag of a limit of [flow.BudgetError].
func limitFlag(limit string) string { return "budget-" + strings.ReplaceAll(limit, " ", "-") }

// refused is the number of the first effect that the budget did not let happen; 0: none.
func (d *drive) refused(id session.ID) int64 {
	ctx := context.Background() // it is short, and that of the run may be over
	effects, err := d.r.effects(ctx, id)
	if err != nil {
		return 0 // there is a hint without it
	}
	for _, x := range effects {
		var value struct{ Exceeded *struct{} }
		raw, err := store.Unpack(x.Result.Value, func(digest session.Digest) ([]byte, error) { return d.r.Object(ctx, digest) })
		if err == nil && json.Unmarshal(raw, &value) == nil && value.Exceeded != nil {
			return x.ID
		}
	}
	return 0
}
