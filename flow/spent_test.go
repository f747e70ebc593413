package flow_test

import (
	"context"
	"errors"
	"fmt"
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
	if _, err := down.Forward(ctx, session.FromUser("x")); err == nil || spent(t, ctx).Lost.Tokens != 0 {
		t.Errorf("%v, %v", err, spent(t, ctx))
	}
}

// What no server can have counted is no way around a budget either.
func TestBudgetWithOddReports(t *testing.T) {
	prices, err := llm.ParsePrices([]byte(`{"models":{"scripted:":{"input":10,"output":30}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []session.Usage{
		{Input: -5000, Output: -5000}, {Input: 1 << 62, Output: 1 << 62}, {Input: 10, Output: 10, Cost: session.Cost{Nano: -1e9}}, {Input: 10, Output: 10, Cost: session.Cost{Nano: 1 << 62}},
	} {
		n := 0
		a := &flow.Agent{Params: llm.Params{MaxTokens: 100}, Tools: tool.Set{upper()}, MaxSteps: 50, Model: scripted.Func(func(*llm.Request) scripted.Reply {
			n++
			return round(fmt.Sprint(n), &u)
		})}
		ctx := budgeted(t, t.Context(), flow.Budget{Cost: session.Cost{Nano: 20_000_000}, Prices: prices})
		out, err := a.Forward(ctx, session.FromUser("x"))
		if got := out.Usage(); !errors.Is(err, flow.ErrBudgetExceeded) || got.Total() < 0 || got.Cost.Nano < 0 {
			t.Errorf("%+v: %v, %+v", u, err, got)
		}
	}
}

// A budget of money knows what a fallback costs at most, and what it has cost.
func TestBudgetOfFallback(t *testing.T) {
	prices, err := llm.ParsePrices([]byte(`{"models":{"scripted:":{"input":10,"output":30}}}`))
	if err != nil {
		t.Fatal(err)
	}
	down := scripted.New(scripted.Reply{Error: &llm.Error{Kind: llm.ErrConnection, Message: "refused"}})
	up := scripted.New(scripted.Reply{Text: "here", Usage: &session.Usage{Input: 100, Output: 10, Cost: session.Cost{Unpriced: 1}}})
	a := &flow.Agent{Model: &llm.Fallback{Models: []llm.Model{down, up}}}
	ctx := budgeted(t, t.Context(), flow.Budget{Cost: session.Cost{Nano: 1e9}, Prices: prices})
	if _, err := a.Forward(ctx, session.FromUser("x")); err != nil || spent(t, ctx).Usage.Cost != (session.Cost{Nano: 1_300_000}) {
		t.Errorf("%v, %+v", err, spent(t, ctx))
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
	if got := spent(t, ctx).Usage; got.Calls != 2 || got.Cost != (session.Cost{Nano: 2_600_000}) {
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
