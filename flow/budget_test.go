package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// spender is a model whose every reply costs the same, and that calls a tool each time.
type spender struct {
	input, output int64
	served        atomic.Int64 // tokens
	delay         time.Duration
}

func (m *spender) String() string { return "scripted:spender" }

func (m *spender) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	m.served.Add(m.input + m.output)
	id := fmt.Sprint("call_", req.Messages.Len())
	return scripted.New(scripted.Reply{
		Calls: []session.Call{{ID: id, Name: "upper", Arguments: `{"text":"x"}`}}, Delay: m.delay,
		Usage: &session.Usage{Calls: 1, Input: m.input, Output: m.output, Cost: session.Cost{Unpriced: 1}},
	}).Stream(ctx, req)
}

func budgeted(t *testing.T, ctx context.Context, b flow.Budget) context.Context {
	t.Helper()
	ctx, err := flow.WithBudget(ctx, b)
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

func spent(t *testing.T, ctx context.Context) flow.Spent {
	t.Helper()
	s, err := flow.SpentOf(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// branches is a workflow of agents that would never end.
func branches(m llm.Model, n int, p llm.Params) flow.Workflow {
	var all []flow.Workflow
	for i := range n {
		all = append(all, &flow.Agent{Name: fmt.Sprint("a", i), Model: m, Params: p, Tools: tool.Set{upper()}, MaxSteps: 1000})
	}
	return &flow.Parallel{Branches: all}
}

// 64 branches spend no more than the budget and one call, and most of it.
func TestBudgetOfBranches(t *testing.T) {
	for _, limit := range []int64{1, 900, 10_000, 50_000} {
		m := &spender{input: 300, output: 100, delay: time.Millisecond}
		ctx := budgeted(t, t.Context(), flow.Budget{Tokens: limit})
		_, err := branches(m, 64, llm.Params{MaxTokens: 100}).Forward(ctx, session.FromUser(strings.Repeat("word ", 230)))
		if !errors.Is(err, flow.ErrBudgetExceeded) {
			t.Fatalf("%d: %v", limit, err)
		}
		got := m.served.Load()
		if got != spent(t, ctx).Usage.Total() {
			t.Errorf("%d: served %d, counted %d", limit, got, spent(t, ctx).Usage.Total())
		}
		if got > limit+400 || got < min(limit, limit-3*400) {
			t.Errorf("of %d tokens %d were spent", limit, got)
		}
	}
}

func TestBudgetKeepsThePartialSession(t *testing.T) {
	m := &spender{input: 10, output: 10}
	a := &flow.Agent{Model: m, Tools: tool.Set{upper()}}
	for name, b := range map[string]flow.Budget{
		"tokens": {Tokens: 50}, "calls": {Calls: 3}, "tool calls": {ToolCalls: 2},
	} {
		out, err := a.Forward(budgeted(t, t.Context(), b), session.FromUser("x"))
		var e *flow.BudgetError
		if !errors.As(err, &e) || e.Limit != name || !errors.Is(err, flow.ErrBudgetExceeded) || e.Hint() == "" {
			t.Errorf("%s: %v", name, err)
		}
		if out.Len() < 5 || len(out.Transcript().OpenCalls()) != 0 || out.Usage().Calls != 3 {
			t.Errorf("%s: %d chunks, %+v", name, out.Len(), out.Usage())
		}
	}
}

func TestNestedBudgets(t *testing.T) {
	m := &spender{input: 10, output: 10}
	a := &flow.Agent{Model: m, Tools: tool.Set{upper()}}
	outer := budgeted(t, t.Context(), flow.Budget{Calls: 5})
	for want := range 3 {
		inner := budgeted(t, outer, flow.Budget{Calls: 2})
		if _, err := a.Forward(inner, session.FromUser("x")); !errors.Is(err, flow.ErrBudgetExceeded) {
			t.Fatal(err)
		}
		if got := spent(t, outer).Usage.Calls; got != min(5, int64(want+1)*2) {
			t.Errorf("after %d: %d calls", want+1, got)
		}
	}
}

// Calls that wait for an inner budget hold up nobody in the outer one.
func TestWaitingForAnInnerBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer := budgeted(t, t.Context(), flow.Budget{Tokens: 50_000})
		inner := budgeted(t, outer, flow.Budget{Tokens: 5_000})
		done := make(chan struct{})
		slow := &flow.Agent{Model: scripted.Func(func(*llm.Request) scripted.Reply {
			return scripted.Reply{Text: "done", Delay: time.Minute, Usage: &session.Usage{Input: 1, Output: 1}}
		})}
		go func() {
			defer close(done)
			var many []flow.Workflow
			for range 20 {
				many = append(many, slow)
			}
			if _, err := (&flow.Parallel{Branches: many}).Forward(inner, session.FromUser("x")); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		began := time.Now()
		quick := &flow.Agent{Model: scripted.New(scripted.Reply{Text: "at once"})}
		if _, err := quick.Forward(outer, session.FromUser("x")); err != nil || time.Since(began) != 0 {
			t.Errorf("it waited for %v: %v", time.Since(began), err)
		}
		<-done
	})
}

func TestSoftBudgetTellsOnce(t *testing.T) {
	var told atomic.Int64
	b := flow.Budget{Tokens: 100, ToolCalls: 3, OnExceeded: func(e *flow.BudgetError) { told.Add(1) }}
	m := &spender{input: 10, output: 10}
	a := &flow.Agent{Model: m, Tools: tool.Set{upper()}, MaxSteps: 20}
	if _, err := a.Forward(budgeted(t, t.Context(), b), session.FromUser("x")); !errors.Is(err, flow.ErrMaxSteps) {
		t.Fatal(err)
	}
	if told.Load() != 1 {
		t.Errorf("told %d times", told.Load())
	}
}

func TestBudgetOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &spender{delay: 40 * time.Second}
		a := &flow.Agent{Model: m, Tools: tool.Set{upper()}}
		began := time.Now()
		out, err := a.Forward(budgeted(t, t.Context(), flow.Budget{Time: time.Minute}), session.FromUser("x"))
		if !errors.Is(err, flow.ErrBudgetExceeded) || time.Since(began) != time.Minute || out.Len() != 3 {
			t.Errorf("after %v with %d chunks: %v", time.Since(began), out.Len(), err)
		}
	})
}

func TestBudgetOfMoneyNeedsPrices(t *testing.T) {
	m := &spender{input: 1000, output: 1000}
	a := &flow.Agent{Model: m, Tools: tool.Set{upper()}}
	b := flow.Budget{Cost: session.Cost{Nano: 5e6}}
	_, err := a.Forward(budgeted(t, t.Context(), b), session.FromUser("x"))
	if !errors.Is(err, flow.ErrNoPrice) || m.served.Load() != 0 {
		t.Fatalf("without prices: %v, %d tokens", err, m.served.Load())
	}
	b.Prices, err = llm.ParsePrices([]byte(`{"date":"2026-01-01","source":"a test","models":{"scripted:spender":{"input":1,"output":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	a.Model = &llm.Priced{Model: m, Prices: b.Prices}
	a.Params.MaxTokens = 1000
	ctx := budgeted(t, t.Context(), b)
	_, err = a.Forward(ctx, session.FromUser("x"))
	if got := spent(t, ctx).Usage.Cost; !errors.Is(err, flow.ErrBudgetExceeded) || !got.Known() || got.Nano < 5e6 || got.Nano > 7e6 {
		t.Errorf("%v after %s", err, got)
	}
}

// A replay refuses at the same place, and counts nothing twice.
func TestBudgetIsReplayed(t *testing.T) {
	forward := func(rec *recording, m *spender) (session.Session, error) {
		ctx := budgeted(t, effect.WithJournal(t.Context(), rec), flow.Budget{Tokens: 2000, ToolCalls: 40})
		return branches(m, 1, llm.Params{MaxTokens: 100}).Forward(ctx, session.FromUser("x"))
	}
	rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
	_, err := forward(rec, &spender{input: 50, output: 50})
	var a *flow.BudgetError
	if !errors.As(err, &a) {
		t.Fatal(err)
	}
	rec.replay, rec.seen = true, map[string]int{}
	again := &spender{}
	_, err = forward(rec, again)
	var b *flow.BudgetError
	if !errors.As(err, &b) || again.served.Load() != 0 || len(rec.missed) != 0 {
		t.Fatalf("%v; served %d, missed %v", err, again.served.Load(), rec.missed)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if string(x) != string(y) {
		t.Errorf("refused with %s, in the replay with %s", x, y)
	}
}
