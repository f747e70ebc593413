package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// Budget is what the workflows below a context may spend, all of them together: every fork,
// branch and child. What is zero has no limit.
//
// Before a call the budget sets aside what it may take: its messages, as estimated, and the
// longest reply (MaxTokens of its parameters, else Reply). Calls for which nothing is left
// wait for those under way, so branches cannot overshoot together: at most one call, alone, goes
// beyond the limit. That holds as far as replies are no longer than what was set aside. A call
// that was lost with its process counts as what was set aside for it, and so does one whose
// server does not say what it has used; what is answered from a record counts once.
type Budget struct {
	Name string // of what it is for, in errors; may be empty

	Tokens    int64        // of messages and replies
	Cost      session.Cost // in money; every model needs a price then
	Calls     int64        // of models
	ToolCalls int64        // of tools, as a model asks for them, also in vain
	// Time is since WithBudget; the time for which a run is put down counts too. It ends a
	// model call under way, and lets a tool call come to its end.
	Time time.Duration

	Reply  int         // tokens set aside for a reply whose length nothing limits; 0: 4096
	Prices *llm.Prices // of models; needed for Cost
	// OnExceeded makes the budget soft: it is called once, when a limit is reached, and the
	// work goes on. A run that is resumed may be told again. It must be safe to call from any goroutine.
	OnExceeded func(*BudgetError)
}

const defaultReply = 4096

// ErrBudgetExceeded is wrapped by the error of a workflow that has spent its budget. The
// session as far as it got comes with it.
var ErrBudgetExceeded = errors.New("the budget is spent")

// ErrNoPrice is wrapped where a budget of money meets a model whose price is not known: it
// refuses to begin rather than to guess.
var ErrNoPrice = errors.New("the price of the model is not known")

// Spent is what was spent of a budget.
type Spent struct {
	Usage     session.Usage `json:"usage"`
	ToolCalls int64         `json:"tool_calls"`
	Lost      Aside         `json:"lost"` // what was set aside for calls of which nobody knows what they have cost
}

// String says it on one line.
func (s Spent) String() string {
	text := fmt.Sprintf("%d+%d tokens, calls of models: %d, of tools: %d, cost %v", s.Usage.Input, s.Usage.Output, s.Usage.Calls, s.ToolCalls, s.Usage.Cost)
	if s.Lost.Tokens > 0 {
		text += fmt.Sprintf(", and up to %d tokens that nobody has counted", s.Lost.Tokens)
	}
	return text
}

// Aside is what is set aside for a call.
type Aside struct {
	Tokens int64 `json:"tokens"`
	Nano   int64 `json:"nano"` // billionths of a dollar; 0 without a budget of money
}

// BudgetError says which limit was reached.
type BudgetError struct {
	Limit string `json:"limit"` // "tokens", "cost", "calls", "tool calls", "time" or "price"
	Of    string `json:"of"`    // the limit, or the model without a price
	Spent Spent  `json:"spent"`
	Name  string `json:"name,omitempty"` // the budget's
}

func (e *BudgetError) Error() string {
	if e.Limit == limitPrice {
		return fmt.Sprintf("%v: %s", ErrNoPrice, e.Of)
	}
	text := fmt.Sprintf("%v: %s of %s", ErrBudgetExceeded, e.Limit, e.Of)
	if e.Name != "" {
		text += " for " + e.Name
	}
	return fmt.Sprintf("%s (spent: %v)", text, e.Spent)
}

// Unwrap returns ErrBudgetExceeded or ErrNoPrice.
func (e *BudgetError) Unwrap() error {
	if e.Limit == limitPrice {
		return ErrNoPrice
	}
	return ErrBudgetExceeded
}

// Hint says what to do about it.
func (e *BudgetError) Hint() string {
	if e.Limit == limitPrice {
		return "add the model to the price table, or limit tokens instead of money"
	}
	return "allow more; what was done is kept, and the run can be continued from it"
}

// The names of the limits.
const (
	limitTokens    = "tokens"
	limitCost      = "cost"
	limitCalls     = "calls"
	limitToolCalls = "tool calls"
	limitTime      = "time"
	limitPrice     = "price"
)

// WithBudget returns a context whose workflows share a budget. In a durable run that is
// resumed it begins with what is on record of it: budgets of one scope are told apart by their
// order. Budgets may be nested: every one of them holds.
func WithBudget(ctx context.Context, b Budget) (context.Context, error) {
	began, err := effect.Now(ctx)
	if err != nil {
		return ctx, err
	}
	l := &ledger{budget: b, outer: ledgerOf(ctx), began: began, changed: make(chan struct{})}
	l.name = effect.Path(effect.Numbered(ctx, "budget")) // the same one when the run is resumed
	if err := l.restore(ctx); err != nil {
		return ctx, fmt.Errorf("read what was spent of the budget: %w", err)
	}
	return context.WithValue(ctx, ledgerKey{}, l), nil
}

// SpentOf returns what was spent of ctx's innermost budget; nothing without one. It is an
// effect, so that what a program does about it is the same in a replay. The error is the
// journal's.
func SpentOf(ctx context.Context) (Spent, error) {
	l := ledgerOf(ctx)
	if l == nil {
		return Spent{}, nil
	}
	call := effect.Call{Kind: kindBudget, Name: "spent", Class: effect.ReadOnly, Instant: true}
	return effect.Do(ctx, call, func(context.Context) (Spent, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.spent, nil
	})
}

type ledgerKey struct{}

func ledgerOf(ctx context.Context) *ledger {
	l, _ := ctx.Value(ledgerKey{}).(*ledger)
	return l
}
