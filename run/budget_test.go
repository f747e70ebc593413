package run_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/openrath-go/rath/tool"
)

// What a call costs, and what 64 branches may spend together.
const (
	callInput, callOutput = 150, 50
	budgetTokens          = 60_000
)

// budgetSpec is the program of [TestCrashWithinBudget].
type budgetSpec struct {
	DB, URL string
	Run     session.ID
}

func (c *budgetSpec) drive() (any, error) {
	err := c.spend()
	if errors.Is(err, flow.ErrBudgetExceeded) || errors.Is(err, store.ErrEndedRun) {
		err = nil
	}
	return nil, err
}

func (c *budgetSpec) spend() error {
	ctx := context.Background()
	st, err := sqlite.Open(ctx, c.DB, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	model, err := openai.Open("m", &openai.Options{BaseURL: c.URL})
	if err != nil {
		return err
	}
	var branches []flow.Workflow
	for i := range 64 {
		branches = append(branches, &flow.Agent{
			Name: fmt.Sprint("a", i), Model: model, Params: llm.Params{MaxTokens: callOutput}, MaxSteps: 1000,
			Tools: tool.Set{counted("put", effect.ReadOnly, new(atomic.Int64))},
		})
	}
	w := flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		ctx, err := flow.WithBudget(ctx, flow.Budget{Tokens: budgetTokens})
		if err != nil {
			return s, err
		}
		return (&flow.Parallel{Branches: branches}).Forward(ctx, s)
	})
	r := run.New(st, nil)
	r.Register("spend", w)
	h, err := r.Resume(ctx, c.Run)
	if errors.Is(err, store.ErrNotFound) { // it was killed before it began
		h, err = r.Start(ctx, "spend", w, session.FromUser(strings.Repeat("word ", 100)), run.WithID(c.Run))
	}
	if err != nil {
		return err
	}
	_, err = h.Wait()
	return err
}

// 64 branches share a budget, and their process is killed again and again. What the server
// has served, replies that nobody received included, is no more than the budget and one call.
func TestCrashWithinBudget(t *testing.T) {
	rounds := 3
	if testing.Short() || underRace {
		rounds = 1
	}
	for range rounds {
		var served atomic.Int64
		server := llmtest.NewFuncServer(t, func(req *llmtest.Request) scripted.Reply {
			n := served.Add(callInput + callOutput)
			call := scripted.Call("put", `{"text":"x"}`)
			call.ID = fmt.Sprint("call_", n)
			return scripted.Reply{Calls: []session.Call{call}, Usage: &session.Usage{Input: callInput, Output: callOutput}, Delay: 10 * time.Millisecond}
		})
		c := &budgetSpec{DB: filepath.Join(t.TempDir(), "rath.db"), URL: server.URL}
		c.Run, _ = session.NewID()
		kills := 0
		for kills < 8 && !process(t, c, 50*time.Millisecond+rand.N(250*time.Millisecond), new(any)) {
			kills++
		}
		if kills == 8 {
			process(t, c, 0, new(any))
		}
		got := served.Load()
		t.Logf("killed %d times: served %d tokens of %d", kills, got, budgetTokens)
		if got > budgetTokens+callInput+callOutput {
			t.Errorf("served %d tokens, the budget is %d", got, budgetTokens)
		}
		if got < budgetTokens/4 {
			t.Errorf("the work ended after %d of %d tokens", got, budgetTokens)
		}
	}
}

// Two budgets of one place, one after the other, have each its own record.
func TestBudgetsOfOnePlace(t *testing.T) {
	st := open(t)
	r := run.New(st, nil)
	ctx, cancel := context.WithCancel(t.Context())
	build := func(stop func()) flow.Workflow {
		var calls atomic.Int64
		agent := &flow.Agent{Name: "a", Params: llm.Params{MaxTokens: 10}, Tools: tool.Set{counted("put", effect.ReadOnly, new(atomic.Int64))},
			Model: scripted.Func(func(req *llm.Request) scripted.Reply {
				n := req.Messages.Len()
				if calls.Add(1) == 3 {
					stop()
				}
				if n == 1 || n == 4 {
					return scripted.Reply{Text: "done", Usage: &session.Usage{Calls: 1, Input: 150, Output: 50}}
				}
				call := scripted.Call("put", `{"text":"x"}`)
				call.ID = fmt.Sprint("call_", n)
				return scripted.Reply{Calls: []session.Call{call}, Usage: &session.Usage{Calls: 1, Input: 150, Output: 50}}
			})}
		return flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
			for range 2 {
				within, err := flow.WithBudget(ctx, flow.Budget{Tokens: 390})
				if err != nil {
					return s, err
				}
				if s, err = agent.Forward(within, s); err != nil {
					return s, err
				}
				if s.Len() > 2 {
					break
				}
			}
			return s, nil
		})
	}
	h, err := r.Start(ctx, "spend", build(cancel), session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(); !errors.Is(err, context.Canceled) {
		t.Fatalf("the run was not stopped: %v", err)
	}
	r.Register("spend", build(func() {}))
	again, err := r.Resume(t.Context(), h.ID())
	out := finish(t, again, err)
	if out.Total().Calls != 3 {
		t.Errorf("%+v", out.Total())
	}
}

// What is set aside for a call is no part of the call: a later version that estimates
// otherwise goes on with the runs of an earlier one.
func TestBudgetThatEstimatesOtherwise(t *testing.T) {
	st := open(t)
	build := func(reply int) flow.Workflow {
		agent := &flow.Agent{Name: "a", Model: steps("put"), Tools: tool.Set{counted("put", effect.ReadOnly, new(atomic.Int64))}}
		return flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
			ctx, err := flow.WithBudget(ctx, flow.Budget{Tokens: 100_000, Reply: reply})
			if err != nil {
				return s, err
			}
			return agent.Forward(ctx, s)
		})
	}
	r := run.New(st, nil)
	h, err := r.Start(t.Context(), "spend", build(100), session.FromUser("x"))
	out := finish(t, h, err)
	again, err := r.Replay(t.Context(), h.ID(), build(500))
	if err != nil || again.ID() != out.ID() {
		t.Errorf("the replay: %v", err)
	}
}
