package flow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openrath-go/rath/effect"
)

// kindBudget is the kind of the effects that admit tool calls: in a replay the same ones
// are, whatever branches do.
const kindBudget = "budget"

// admission is how many tool calls a budget lets run.
type admission struct {
	Calls    int64        `json:"calls"`
	Exceeded *BudgetError `json:"exceeded,omitempty"`
}

// admitting is the input of an admission.
type admitting struct {
	Budget string `json:"budget"`
	Calls  int    `json:"calls"`
}

// readmit adds calls that are on record.
func (l *ledger) readmit(past effect.Past) error {
	if past.Name != limitToolCalls || !past.Done {
		return nil
	}
	var in admitting
	if err := json.Unmarshal(past.Input, &in); err != nil || in.Budget != l.name {
		return err
	}
	var a admission
	err := json.Unmarshal(past.Outcome.Value, &a)
	l.spent.ToolCalls += a.Calls
	return err
}

// admit takes tool calls, all of them or none.
func (l *ledger) admit(ctx context.Context, calls int) error {
	if l == nil {
		return nil
	}
	live := false
	call := effect.Call{Kind: kindBudget, Name: limitToolCalls, Input: admitting{l.name, calls}, Class: effect.ReadOnly, Instant: true}
	a, err := effect.Do(ctx, call, func(context.Context) (admission, error) {
		live = true
		return l.take(int64(calls)), nil
	})
	isSoft := l.budget.OnExceeded != nil
	switch {
	case err != nil:
		return err
	case a.Exceeded != nil && !isSoft:
		return a.Exceeded
	case a.Exceeded != nil && live:
		l.budget.OnExceeded(a.Exceeded)
	}
	return l.outer.admit(ctx, calls)
}

// take counts calls, unless a hard limit forbids them. A soft one is told of once.
func (l *ledger) take(calls int64) admission {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.budget.ToolCalls == 0 || l.spent.ToolCalls+calls <= l.budget.ToolCalls {
		l.spent.ToolCalls += calls
		return admission{Calls: calls}
	}
	exceeded := l.reached(limitToolCalls, fmt.Sprint(l.budget.ToolCalls))
	if l.budget.OnExceeded == nil {
		return admission{Exceeded: exceeded}
	}
	if l.warned {
		exceeded = nil
	}
	l.warned = true
	l.spent.ToolCalls += calls
	return admission{calls, exceeded}
}
