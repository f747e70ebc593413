package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/openrath-go/rath/tool"
)

// A run that is put down in a tool of an agent which is a tool itself goes on in there: no
// model is asked again, and what may have happened is asked about.
func TestResumeWithinNestedAgent(t *testing.T) {
	st := open(t)
	var asked, sent atomic.Int64
	stop := func() {}
	send := tool.New("send", "Send.", func(ctx context.Context, in textInput) (string, error) {
		sent.Add(1)
		stop()
		<-ctx.Done()
		return "", ctx.Err()
	})
	worker := &flow.Agent{Name: "worker", Model: &countingModel{steps("look", "send", "look"), &asked}, Tools: tool.Set{counted("look", effect.ReadOnly, new(atomic.Int64)), send}}
	boss := &flow.Agent{Name: "boss", Model: &countingModel{delegating("worker"), &asked}, Tools: tool.Set{flow.AsTool(worker, nil)}}
	ctx, cancel := context.WithCancel(t.Context())
	stop = cancel
	h, err := run.New(st, nil).Start(ctx, "demo", boss, session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	var review *run.ReviewError
	if _, err := h.Wait(); !errors.As(err, &review) || h.State() != store.NeedsReview || len(review.Effects) != 1 || review.Effects[0].Path != "boss/worker:call_0/worker/send:call_1" {
		t.Fatalf("%v, %s", err, h.State())
	}
	if asked.Load() != 3 {
		t.Fatalf("%d model calls before", asked.Load())
	}
	second := run.New(st, nil)
	second.Register("demo", boss)
	settled := store.Settled{Effect: review.Effects[0].ID, Verdict: store.VerdictResult, Value: json.RawMessage(`"it was sent"`), By: "test"}
	if err := second.Settle(t.Context(), h.ID(), settled); err != nil {
		t.Fatal(err)
	}
	h, err = second.Resume(t.Context(), h.ID())
	out := finish(t, h, err)
	if asked.Load() != 3+3 || sent.Load() != 1 || out.Text() != "got done" {
		t.Errorf("%d model calls, sent %d times, %q", asked.Load(), sent.Load(), out.Text())
	}
	nested(t, st, out)
	worker.Model, boss.Model = &countingModel{steps("look", "send", "look"), &asked}, &countingModel{delegating("worker"), &asked}
	again, err := second.Replay(t.Context(), h.ID(), boss)
	if err != nil || again.ID() != out.ID() || again.Digest() != out.Digest() || asked.Load() != 6 {
		t.Errorf("replay: %v, %d model calls", err, asked.Load())
	}
}

// nested looks whether the lineage of an agent leads to the sessions of its tools.
func nested(t *testing.T, st store.Store, out session.Session) {
	t.Helper()
	found := 0
	for _, p := range out.Lineage().Parents {
		if p.Role != flow.RoleTool {
			continue
		}
		child, err := st.Session(t.Context(), p.ID)
		if err != nil || child.Text() != "done" || child.Len() < 4 {
			t.Errorf("%v, %d chunks", err, child.Len())
			continue
		}
		task, err := st.Session(t.Context(), child.Lineage().Parents[0].ID)
		if err != nil || len(task.Lineage().Parents) != 1 || task.Lineage().Parents[0] != (session.Parent{ID: out.Lineage().Parents[0].ID, Role: flow.RoleCaller}) {
			t.Errorf("%v, %+v", err, task.Lineage())
		}
		found++
	}
	if found == 0 {
		t.Errorf("no session of a tool: %+v", out.Lineage())
	}
}

// delegating is a model that has a tool do something, and says what that gave.
func delegating(name string) *scripted.Model {
	model := scripted.New(
		scripted.Reply{Calls: []session.Call{{ID: "call_0", Name: name, Arguments: `{"task":"do it"}`}}},
		scripted.Reply{Text: "got done"},
	)
	return model
}

// The crash test's workflow: a boss has two workers at the same time, each of which has one
// worker more; each works in rounds.
const nestedRounds = 6

// nestedSpec is the program of [TestCrashWithinNestedAgents].
type nestedSpec struct {
	DB, URL string
	Run     session.ID
}

func (c *nestedSpec) workflow() (flow.Workflow, error) {
	model, err := openai.Open("m", &openai.Options{BaseURL: c.URL})
	if err != nil {
		return nil, err
	}
	look := func() *tool.Tool { return counted("look", effect.ReadOnly, new(atomic.Int64)) }
	inner := &flow.Agent{Name: "inner", Prompt: "inner", Model: model, Tools: tool.Set{look()}}
	outer := &flow.Agent{Name: "outer", Prompt: "outer", Model: model, Tools: tool.Set{look(), flow.AsTool(inner, nil)}}
	return &flow.Agent{Name: "boss", Prompt: "boss", Model: model, Tools: tool.Set{flow.AsTool(outer, nil)}}, nil
}

func (c *nestedSpec) drive() (any, error) {
	ctx := context.Background()
	st, err := sqlite.Open(ctx, c.DB, nil)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	w, err := c.workflow()
	if err != nil {
		return nil, err
	}
	r := run.New(st, nil)
	r.Register("nested", w)
	h, err := r.Resume(ctx, c.Run)
	if errors.Is(err, store.ErrNotFound) {
		h, err = r.Start(ctx, "nested", w, session.FromUser("go"), run.WithID(c.Run))
	}
	if errors.Is(err, store.ErrEndedRun) {
		got, err := st.Run(ctx, c.Run)
		if err != nil {
			return nil, err
		}
		s, err := st.Session(ctx, got.Output)
		return s.Digest(), err
	}
	if err != nil {
		return nil, err
	}
	out, err := h.Wait()
	return out.Digest(), err
}

// nestedModel answers all agents, and counts what it is asked.
type nestedModel struct {
	mu sync.Mutex
	n  map[string]int // by agent, task and round

	left int // how often it is asked until its process is killed
	kill chan time.Time
}

func (m *nestedModel) answer(req *llmtest.Request) scripted.Reply {
	agent, task, results := "", "", 0
	for _, x := range req.Messages {
		switch {
		case x.Role == "system":
			agent = x.Text
		case x.Role == "user" && task == "" && len(x.Results) == 0:
			task = x.Text
		}
		results += len(x.Results)
	}
	m.mu.Lock()
	m.n[fmt.Sprintf("%s %s %d", agent, task, results)]++
	if m.left--; m.left == 0 {
		m.kill <- time.Time{}
	}
	m.mu.Unlock()
	call := func(name, key, text string) session.Call {
		return session.Call{ID: name + "-" + text, Name: name, Arguments: fmt.Sprintf(`{%q:%q}`, key, text)}
	}
	reply := scripted.Reply{Text: agent + " did " + task, Delay: time.Duration(1+rand.IntN(4)) * time.Millisecond}
	switch {
	case agent == "boss" && results == 0:
		reply.Calls = []session.Call{call("outer", "task", "a"), call("outer", "task", "b")}
	case agent == "outer" && results == 2:
		reply.Calls = []session.Call{call("inner", "task", task+"-in")}
	case agent != "boss" && results < nestedRounds:
		reply.Calls = []session.Call{call("look", "text", fmt.Sprint(task, results))}
	}
	return reply
}

// killAfter is told when the model has been asked so often.
func (m *nestedModel) killAfter(calls int) chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.kill = calls, make(chan time.Time, 1)
	return m.kill
}

// answered are the counts of what has its answer on record.
func (m *nestedModel) answered(t *testing.T, st store.Store, id session.ID, frozen map[string]int) {
	t.Helper()
	effects, err := store.Effects(st.Events(t.Context(), id, 0))
	if err != nil {
		t.Fatal(err)
	}
	rounds := map[string]int{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range effects {
		if x.Kind != "model" {
			continue
		}
		names := strings.Split(x.Path, "/")
		agent, task := names[len(names)-1], "go"
		if len(names) > 1 {
			_, task, _ = strings.Cut(names[len(names)-2], "-")
		}
		results := rounds[x.Path]
		if agent == "boss" {
			results *= 2
		}
		rounds[x.Path]++
		key := fmt.Sprintf("%s %s %d", agent, task, results)
		if _, ok := frozen[key]; x.Done && !ok {
			if frozen[key] = m.n[key]; m.n[key] == 0 {
				t.Errorf("%s is on record, and nobody was asked", key)
			}
		}
	}
}

// Agents within agents are killed at random points. What is on record, at whatever depth, is
// not asked again, and the end is as if nothing had happened.
func TestCrashWithinNestedAgents(t *testing.T) {
	kills, runs := 0, 4
	if testing.Short() || underRace {
		runs = 1
	}
	var want session.Digest
	for i := range 1 + runs {
		m := &nestedModel{n: map[string]int{}}
		db := filepath.Join(t.TempDir(), "rath.db")
		st, err := sqlite.Open(t.Context(), db, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		c := &nestedSpec{DB: db, URL: llmtest.NewFuncServer(t, m.answer).URL}
		c.Run, _ = session.NewID()
		frozen := map[string]int{}
		var got session.Digest
		for n, ended := 0, false; !ended; n++ {
			var kill chan time.Time
			if i > 0 && n < 4 {
				kill = m.killAfter(1 + rand.IntN(10))
			}
			if ended = process(t, c, kill, &got); !ended {
				kills++
				if _, err := st.Run(t.Context(), c.Run); err == nil {
					m.answered(t, st, c.Run, frozen)
				}
			}
		}
		if i == 0 {
			want = got
		}
		if got != want {
			t.Errorf("run %d ended with %s, want %s", i, got, want)
		}
		m.answered(t, st, c.Run, frozen)
		if len(frozen) != 2+2*(nestedRounds+1)*2 {
			t.Errorf("%d model calls are on record: %v", len(frozen), frozen)
		}
		for key, n := range frozen {
			if m.n[key] != n {
				t.Errorf("%s: asked again after its answer was on record: %d, then %d times", key, n, m.n[key])
			}
		}
	}
	if t.Logf("killed %d times", kills); kills == 0 {
		t.Error("it was never killed")
	}
}
