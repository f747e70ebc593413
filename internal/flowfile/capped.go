package flowfile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/openrath-go/rath/flow"
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

// Fingerprint has what the tree of workflows does not show.
func (c *Capped) Fingerprint() string { return limitsText(c.Budget) }

// String describes the budget without what has it.
func (c *Capped) String() string { return "Budget(" + limitsText(c.Budget) + ")" }

// limitsText are the limits of a budget on one line.
func limitsText(b flow.Budget) string {
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
		parts = append(parts, b.Time.Round(time.Millisecond).String())
	}
	return strings.Join(parts, ", ")
}
