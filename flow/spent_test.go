package flow_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// round is a reply that calls a tool, so that its agent asks again.
func round(id string, u *session.Usage) scripted.Reply {
	return scripted.Reply{Calls: []session.Call{{ID: id, Name: "upper", Arguments: `{"text":"x"}`}}, Usage: u}
}

// A server that does not say what it has used is no way around a budget: what was set aside
// counts. A call that failed before anything came of it is free.
func TestBudgetWithoutReports(t *testing.T) {
	a := &flow.Agent{Model: scripted.New(round("1", nil), round("2", nil), round("3", nil)), Params: llm.Params{MaxTokens: 100}, Tools: tool.Set{upper()}}
	ctx := budgeted(t, t.Context(), flow.Budget{Name: "tests", Tokens: 150})
	_, err := a.Forward(ctx, session.FromUser("x"))
	var over *flow.BudgetError
	if !errors.As(err, &over) || over.Name != "tests" || over.Spent.Lost.Tokens < 150 || over.Spent.Usage.Calls > 2 {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), "tokens of 150 for tests (spent: 0+0 tokens") || !strings.Contains(err.Error(), "that nobody has counted") {
		t.Error(err)
	}
	down := &flow.Agent{Model: scripted.New(scripted.Reply{Error: &llm.Error{Kind: llm.ErrConnection, Message: "refused"}})}
	ctx = budgeted(t, t.Context(), flow.Budget{Tokens: 150})
	if _, err := down.Forward(ctx, session.FromUser("x")); err == nil || flow.SpentOf(ctx).Lost.Tokens != 0 {
		t.Errorf("%v, %v", err, flow.SpentOf(ctx))
	}
}

// A budget of money has a price for what comes without one.
func TestBudgetPricesReplies(t *testing.T) {
	prices, err := llm.ParsePrices([]byte(`{"models":{"scripted:":{"input":10,"output":30,"above":5000}}}`))
	if err != nil {
		t.Fatal(err)
	}
	used := func() *session.Usage { return &session.Usage{Input: 100, Output: 10, Cost: session.Cost{Unpriced: 1}} }
	a := &flow.Agent{Model: scripted.New(round("1", used()), round("2", used()), round("3", used())), Tools: tool.Set{upper()}}
	ctx := budgeted(t, t.Context(), flow.Budget{Cost: session.Cost{Nano: 2_000_000}, Prices: prices})
	if _, err := a.Forward(ctx, session.FromUser("x")); !errors.Is(err, flow.ErrBudgetExceeded) {
		t.Fatal(err)
	}
	if got := flow.SpentOf(ctx).Usage; got.Calls != 2 || got.Cost != (session.Cost{Nano: 2_600_000}) {
		t.Errorf("%+v", got)
	}
	long := &flow.Agent{Model: scripted.New(scripted.Reply{Text: "x"})}
	if _, err := long.Forward(ctx, session.FromUser(strings.Repeat("many words ", 10_000))); !errors.Is(err, flow.ErrNoPrice) {
		t.Errorf("the price of so long a call is not known: %v", err)
	}
}

// A call that the time ends says what was spent until then.
func TestSpentWhenTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := scripted.Reply{Text: "never", Delay: time.Hour}
		a := &flow.Agent{Model: scripted.New(round("1", &session.Usage{Input: 7, Output: 3}), slow), Tools: tool.Set{upper()}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := a.Forward(budgeted(t, ctx, flow.Budget{Time: time.Minute}), session.FromUser("x"))
		var over *flow.BudgetError
		if !errors.As(err, &over) || over.Limit != "time" || over.Spent.Usage.Total() != 10 || over.Spent.ToolCalls != 1 {
			t.Errorf("%v", err)
		}
	})
}
