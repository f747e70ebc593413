package flowfile

import (
	"context"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// Capped is a workflow that has a budget each time it runs.
type Capped struct {
	Budget flow.Budget
	Body   flow.Workflow
}

// Forward runs the workflow within the budget. The error is the workflow's own, which wraps
// [flow.ErrBudgetExceeded] where that is spent.
func (c *Capped) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	ctx, err := flow.WithBudget(ctx, c.Budget)
	if err != nil {
		return s, err
	}
	return flow.Forward(ctx, "", c.Body, s)
}

// CheckPrices reports models of the workflow whose price is not known, where the budget is one
// of money. The error wraps [flow.ErrNoPrice].
func (c *Capped) CheckPrices() error {
	if c.Budget.Cost.Nano == 0 {
		return nil
	}
	for _, w := range flow.Inspect(c.Body) {
		m := modelOf(w)
		if m == nil {
			continue
		}
		if _, known := c.Budget.Prices.Price(m.String()); !known {
			return fmt.Errorf("%w: %v", flow.ErrNoPrice, m)
		}
	}
	return nil
}

// modelOf is the model that a workflow asks itself, nil if it asks none.
func modelOf(w flow.Workflow) llm.Model {
	switch w := w.(type) {
	case *flow.Agent:
		return w.Model
	case *flow.Compressor:
		return w.Model
	case *flow.Route:
		if w.Selector != nil {
			return w.Selector.Model
		}
	}
	return nil
}

// Fingerprint has what the tree of workflows does not show.
func (c *Capped) Fingerprint() string { return LimitsText(c.Budget) }

// String describes the budget without what has it.
func (c *Capped) String() string { return "Budget(" + LimitsText(c.Budget) + ")" }

// LimitsText are the limits of a budget on one line.
func LimitsText(b flow.Budget) string {
	var parts []string
	count := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	count(b.Tokens, "tokens")
	if b.Cost.Nano > 0 {
		parts = append(parts, b.Cost.String())
	}
	count(b.Calls, "calls of models")
	count(b.ToolCalls, "calls of tools")
	if b.Time > 0 {
		parts = append(parts, b.Time.String())
	}
	return strings.Join(parts, ", ")
}
