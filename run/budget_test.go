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
		var served, until atomic.Int64 // until: how much may be served before the kill
		kill := make(chan time.Time, 1)
		server := llmtest.NewFuncServer(t, func(req *llmtest.Request) scripted.Reply {
			n := served.Add(callInput + callOutput)
			if n >= until.Load() {
				select {
				case kill <- time.Time{}:
				default:
				}
			}
			call := scripted.Call("put", `{"text":"x"}`)
			call.ID = fmt.Sprint("call_", n)
			return scripted.Reply{Calls: []session.Call{call}, Usage: &session.Usage{Input: callInput, Output: callOutput}, Delay: 10 * time.Millisecond}
		})
		c := &budgetSpec{DB: filepath.Join(t.TempDir(), "rath.db"), URL: server.URL}
		c.Run, _ = session.NewID()
		kills := 0
		for kills < 3 {
			until.Store(served.Load() + rand.N(int64(budgetTokens/8)))
			select {
			case <-kill: // what was under way at the last one's end may have asked for more
			default:
			}
			if process(t, c, kill, new(any)) {
				break
			}
			kills++
		}
		process(t, c, nil, new(any))
		got := served.Load()
		t.Logf("killed %d times: served %d tokens of %d", kills, got, budgetTokens)
		if got > budgetTokens+callInput+callOutput {
			t.Errorf("served %d tokens, the budget is %d", got, budgetTokens)
		}
		if kills == 0 {
			t.Error("it was never killed")
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

// Calls that wait for a budget have cost nothing: a run that was put down while many wait
// goes on with all but what was under way.
func TestWaitingForBudgetCostsNothing(t *testing.T) {
	st := open(t)
	asked := make(chan struct{}, 100)
	build := func(delay time.Duration) flow.Workflow {
		var branches []flow.Workflow
		for i := range 16 {
			branches = append(branches, &flow.Agent{Name: fmt.Sprint("a", i), Model: scripted.Func(func(*llm.Request) scripted.Reply {
				asked <- struct{}{}
				return scripted.Reply{Text: "done", Delay: delay, Usage: &session.Usage{Input: 10, Output: 5}}
			})})
		}
		return flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
			ctx, err := flow.WithBudget(ctx, flow.Budget{Tokens: 20_000}) // for four at a time
			if err != nil {
				return s, err
			}
			return (&flow.Parallel{Branches: branches}).Forward(ctx, s)
		})
	}
	r := run.New(st, nil)
	ctx, cancel := context.WithCancel(t.Context())
	h, err := r.Start(ctx, "spend", build(time.Hour), session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		<-asked
	}
	cancel()
	if _, err := h.Wait(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r.Register("spend", build(0))
	again, err := r.Resume(t.Context(), h.ID())
	if out := finish(t, again, err); out.Total().Calls != 16 {
		t.Errorf("%+v", out.Total())
	}
}

// A rerun begins with what was spent by all that it takes over, within tools too.
func TestRerunWithinBudget(t *testing.T) {
	st := open(t)
	usage := func(tokens int64) *session.Usage { return &session.Usage{Input: tokens} }
	var spent flow.Spent
	build := func() flow.Workflow {
		inner := &flow.Agent{Name: "inner", Model: scripted.New(scripted.Reply{Text: "done", Usage: usage(1000)})}
		outer := &flow.Agent{Name: "outer", Tools: tool.Set{flow.AsTool(inner, nil)}, Model: scripted.Func(func(req *llm.Request) scripted.Reply {
			if req.Messages.Len() > 1 {
				return scripted.Reply{Text: "done", Usage: usage(10)}
			}
			return scripted.Reply{Calls: []session.Call{{ID: "call_0", Name: "inner", Arguments: `{"task":"do it"}`}}, Usage: usage(10)}
		})}
		return flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
			ctx, err := flow.WithBudget(ctx, flow.Budget{Tokens: 100_000})
			if err != nil {
				return s, err
			}
			if s, err = outer.Forward(ctx, s); err != nil {
				return s, err
			}
			spent, err = flow.SpentOf(ctx)
			return s, err
		})
	}
	r := run.New(st, nil)
	h, err := r.Start(t.Context(), "spend", build(), session.FromUser("x"))
	finish(t, h, err)
	want := spent.Usage
	effects, err := store.Effects(st.Events(t.Context(), h.ID(), 0))
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for _, x := range effects {
		if x.Kind == "model" {
			last = x.ID
		}
	}
	h, err = r.Rerun(t.Context(), h.ID(), build(), last)
	finish(t, h, err)
	if spent.Usage != want || want.Input != 1020 {
		t.Errorf("%+v, before %+v", spent.Usage, want)
	}
}
