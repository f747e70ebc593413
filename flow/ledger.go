package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// ledger is a budget in use.
type ledger struct {
	name   string // in records
	budget Budget
	outer  *ledger // the budget that this one is within
	began  time.Time

	mu      sync.Mutex
	spent   Spent
	aside   Aside         // for calls under way
	flying  int64         // their number
	warned  bool          // OnExceeded was called
	changed chan struct{} // closed when a call ends
}

// restore begins with what is on record. What the record answers later is not added again.
func (l *ledger) restore(ctx context.Context) error {
	for past, err := range effect.History(ctx, "model") {
		if err == nil {
			err = l.remember(past)
		}
		if err != nil {
			return err
		}
	}
	for past, err := range effect.History(ctx, kindBudget) {
		if err == nil {
			err = l.readmit(past)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// remember adds a call that is on record. Of each attempt without an end nobody knows what
// it cost, so it counts as what was set aside.
func (l *ledger) remember(past effect.Past) error {
	var c charge
	if len(past.Note) > 0 {
		if err := json.Unmarshal(past.Note, &c); err != nil {
			return err
		}
	}
	if !slices.Contains(c.Budgets, l.name) {
		return nil
	}
	lost := int64(past.Attempts)
	if past.Done {
		var out asked
		if err := json.Unmarshal(past.Outcome.Value, &out); err != nil {
			return err
		}
		l.bill(c.Aside, past.Name, out.Reply, out.Error != nil || out.Exceeded != nil || past.Outcome.Error != "")
		lost--
	}
	l.spent.Lost.Tokens += lost * c.Aside.Tokens
	l.spent.Lost.Nano += lost * c.Aside.Nano
	return nil
}

// names are those of the budget and of those around it.
func (l *ledger) names() (names []string) {
	for ; l != nil; l = l.outer {
		names = append(names, l.name)
	}
	return names
}

// estimate is what a call may take by this budget and those around it: the most of them.
func (l *ledger) estimate(model string, req *llm.Request) (a Aside, err error) {
	for ; l != nil; l = l.outer {
		u := l.most(req)
		a.Tokens = max(a.Tokens, u.Total())
		if !l.limitsCost() {
			continue
		}
		cost := l.budget.Prices.Most(model, u)
		if !cost.Known() { // also where the table has no price for so long a call
			return a, &BudgetError{Limit: limitPrice, Of: model}
		}
		a.Nano = max(a.Nano, cost.Nano)
	}
	return a, nil
}

// most is the usage of a call with the longest reply.
func (l *ledger) most(req *llm.Request) session.Usage {
	n := llm.EstimateInput(req) + around*(req.Prompt.Len()+req.Messages.Len())
	p := req.Params
	reply := cmp.Or(p.MaxTokens, p.MaxCompletionTokens, l.budget.Reply, defaultReply)
	return session.Usage{Calls: 1, Input: int64(n), Output: int64(reply + p.ThinkingTokens)}
}

// around is what a provider puts around a message, in tokens.
const around = 4

// acquire sets aside what a call may take, in this budget and those around it: in this one
// first, so that who waits for it holds up nobody else. It waits for calls under way where
// their end may leave enough. What is set aside is to be settled or returned.
func (l *ledger) acquire(ctx context.Context, a Aside) error {
	for at := l; at != nil; at = at.outer {
		if err := at.await(ctx, a); err != nil {
			l.release(a, at, func(*ledger) {})
			return err
		}
	}
	return nil
}

// giveBack takes back what was set aside for a call that was not made.
func (l *ledger) giveBack(a Aside) { l.release(a, nil, func(*ledger) {}) }

func (l *ledger) await(ctx context.Context, a Aside) error {
	for {
		wait, soft, err := l.try(a)
		if soft != nil {
			l.budget.OnExceeded(soft)
		}
		if wait == nil || err != nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// try sets something aside, or gives what to wait for. It gives the error of a soft budget
// once.
func (l *ledger) try(a Aside) (wait <-chan struct{}, soft *BudgetError, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	exceeded, isSoft := l.exceeded(), l.budget.OnExceeded != nil
	switch {
	case exceeded != nil && !isSoft:
		return nil, nil, exceeded
	case exceeded != nil && !l.warned:
		l.warned, soft = true, exceeded
	case l.flying > 0 && !l.fits(a) && !isSoft:
		return l.changed, nil, nil // what is under way may leave enough; and alone, one call may go
	}
	l.aside, l.flying = Aside{l.aside.Tokens + a.Tokens, l.aside.Nano + a.Nano}, l.flying+1
	return nil, soft, nil
}

// settle takes back what was set aside for a call, and adds what it has cost.
func (l *ledger) settle(a Aside, model string, reply llm.Reply, failed bool) {
	l.release(a, nil, func(l *ledger) { l.bill(a, model, reply, failed) })
}

// bill adds what a call has cost. Where its server did not say, or what it said has no price,
// that is what was set aside; a call that failed before anything came of it is free.
func (l *ledger) bill(a Aside, model string, reply llm.Reply, failed bool) {
	u := reply.Usage
	u.Cost = l.budget.Prices.CostOf(model, reply.Model, u)
	l.spent.Usage = l.spent.Usage.Add(u)
	if failed && isNothing(reply.Chunk) {
		return
	}
	if u.Unreported > 0 {
		l.spent.Lost.Tokens += a.Tokens
	}
	if !u.Cost.Known() {
		l.spent.Lost.Nano += a.Nano
	}
}

// release takes back what was set aside for a call, in the budgets within end, and has each
// add what the call has cost.
func (l *ledger) release(a Aside, end *ledger, add func(*ledger)) {
	for ; l != end; l = l.outer {
		l.mu.Lock()
		l.aside, l.flying = Aside{l.aside.Tokens - a.Tokens, l.aside.Nano - a.Nano}, l.flying-1
		add(l)
		close(l.changed)
		l.changed = make(chan struct{})
		l.mu.Unlock()
	}
}

// fits reports whether a call is within all limits, whatever those under way take.
func (l *ledger) fits(a Aside) bool {
	b := l.budget
	return (b.Tokens == 0 || l.tokens()+l.aside.Tokens+a.Tokens <= b.Tokens) &&
		(b.Calls == 0 || l.spent.Usage.Calls+l.flying < b.Calls) &&
		(!l.limitsCost() || l.cost()+l.aside.Nano+a.Nano <= b.Cost.Nano)
}

func (l *ledger) limitsCost() bool { return l.budget.Cost != session.Cost{} }

func (l *ledger) tokens() int64 { return l.spent.Usage.Total() + l.spent.Lost.Tokens }
func (l *ledger) cost() int64   { return l.spent.Usage.Cost.Nano + l.spent.Lost.Nano }

// exceeded says which limit is reached, calls under way left out.
func (l *ledger) exceeded() *BudgetError {
	b := l.budget
	switch {
	case b.Tokens > 0 && l.tokens() >= b.Tokens:
		return l.reached(limitTokens, fmt.Sprint(b.Tokens))
	case b.Calls > 0 && l.spent.Usage.Calls >= b.Calls:
		return l.reached(limitCalls, fmt.Sprint(b.Calls))
	case l.limitsCost() && l.cost() >= b.Cost.Nano:
		return l.reached(limitCost, b.Cost.String())
	case b.Time > 0 && time.Since(l.began) >= b.Time:
		return l.reached(limitTime, b.Time.String())
	}
	return nil
}

func (l *ledger) reached(limit, of string) *BudgetError {
	return &BudgetError{limit, of, l.spent, l.budget.Name}
}

// overdue is why a call was ended whose budget of time is over.
type overdue struct{ of *ledger }

func (o overdue) Error() string { return o.spent().Error() }

// spent is the error with what was spent until now.
func (o overdue) spent() *BudgetError {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	return o.of.reached(limitTime, o.of.budget.Time.String())
}

// within ends ctx when the time of a hard budget is over.
func (l *ledger) within(ctx context.Context) (context.Context, context.CancelFunc) {
	cancel := context.CancelFunc(func() {})
	for ; l != nil; l = l.outer {
		if l.budget.Time == 0 || l.budget.OnExceeded != nil {
			continue
		}
		inner := cancel
		var own context.CancelFunc
		ctx, own = context.WithDeadlineCause(ctx, l.began.Add(l.budget.Time), overdue{l})
		cancel = func() { own(); inner() }
	}
	return ctx, cancel
}

func isNothing(c session.Chunk) bool {
	for range c.Parts() {
		return false
	}
	return c.NumCalls() == 0
}
