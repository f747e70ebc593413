package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

var crashes = flag.Int("crashes", 0, "how often the crash matrix kills; 0: 100 times, under -race 5")

// The matrix's workflow: 8 branches of 6 rounds with a model call and three tool calls
// each, and a last model call: 200 effects.
const (
	branches = 8
	rounds   = 6
)

// crashSpec is the program of [TestCrashMatrix].
type crashSpec struct {
	DB, Calls, URL string
	Run            session.ID
	Resume         bool
}

// crashResult is what it says if it lives to tell.
type crashResult struct {
	State  store.State
	Digest session.Digest
	Review []int64
	Error  string
}

func (c *crashSpec) drive() (any, error) {
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
	var h *run.Handle
	if c.Resume {
		r.Register("matrix", w)
		h, err = r.Resume(ctx, c.Run)
	} else {
		h, err = r.Start(ctx, "matrix", w, session.FromUser("go"), run.WithID(c.Run))
	}
	var review *run.ReviewError
	if errors.As(err, &review) {
		out := crashResult{State: store.NeedsReview}
		for _, x := range review.Effects {
			out.Review = append(out.Review, x.ID)
		}
		return out, nil
	}
	if errors.Is(err, store.ErrEndedRun) { // it was killed between its end and the word of it
		return c.ended(ctx, st)
	}
	if err != nil {
		return nil, err
	}
	s, err := h.Wait()
	out := crashResult{State: h.State(), Digest: s.Digest()}
	if err != nil {
		out.Error = err.Error()
	}
	return out, nil
}

func (c *crashSpec) ended(ctx context.Context, st store.Store) (any, error) {
	got, err := st.Run(ctx, c.Run)
	if err != nil {
		return nil, err
	}
	s, err := st.Session(ctx, got.Output)
	return crashResult{State: got.State, Digest: s.Digest(), Error: got.Error}, err
}

func (c *crashSpec) workflow() (flow.Workflow, error) {
	w := &flow.Parallel{}
	for i := range branches {
		name := fmt.Sprint("b", i)
		m, err := openai.Open("m", &openai.Options{BaseURL: c.URL, APIKey: "k"})
		if err != nil {
			return nil, err
		}
		w.Branches = append(w.Branches, &flow.Agent{Name: name, Prompt: name, Model: m, Tools: tool.Set{
			c.tool("look", effect.ReadOnly), c.tool("put", effect.Idempotent), c.tool("send", effect.Mutating),
		}})
	}
	return w, nil
}

// tool notes its calls in a file, a line each, and takes a moment before and after.
func (c *crashSpec) tool(name string, class effect.Class) *tool.Tool {
	t := tool.New(name, "Note a call.", func(_ context.Context, in textInput) (string, error) {
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
		f, err := os.OpenFile(c.Calls, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if _, err := f.WriteString(name + " " + in.Text + "\n"); err != nil {
			return "", err
		}
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
		return noted(name, in.Text), nil
	})
	t.Class = class
	t.Locks = func(context.Context, json.RawMessage) ([]tool.Lock, error) { return nil, nil }
	return t
}

func noted(name, text string) string { return name + " noted " + text }

// asking counts the requests that the model's server got, by branch and round.
type asking struct {
	mu sync.Mutex
	n  map[string]int
}

func (a *asking) count(path string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n[path]
}

func (a *asking) answer(req *llmtest.Request) scripted.Reply {
	branch, results := "", 0
	for _, m := range req.Messages {
		if m.Role == "system" {
			branch = m.Text
		}
		results += len(m.Results)
	}
	round := results / 3
	at := fmt.Sprintf("%s-%d", branch, round)
	a.mu.Lock()
	a.n[at]++
	a.mu.Unlock()
	if round == rounds {
		return scripted.Reply{Text: branch + " is done"}
	}
	var calls []session.Call
	for _, name := range []string{"look", "put", "send"} {
		call := scripted.Call(name, fmt.Sprintf(`{"text":%q}`, at))
		call.ID = name + "-" + at
		calls = append(calls, call)
	}
	return scripted.Reply{Calls: calls}
}

// matrix is one run that is killed and resumed until it ends.
type matrix struct {
	t      *testing.T
	st     store.Store
	spec   *crashSpec
	asked  *asking
	frozen map[string]int // requests whose answers are on record, as they were counted then
}

func newMatrix(t *testing.T, st store.Store, db string) *matrix {
	a := &asking{n: map[string]int{}}
	id, _ := session.NewID()
	calls := filepath.Join(t.TempDir(), "calls")
	return &matrix{t: t, st: st, asked: a, frozen: map[string]int{}, spec: &crashSpec{
		DB: db, Calls: calls, URL: llmtest.NewFuncServer(t, a.answer).URL, Run: id,
	}}
}

// effects reads what is on record, and notes the model calls that have their answer.
func (m *matrix) effects() []*store.Effect {
	m.t.Helper()
	var head store.Head
	for e, err := range m.st.Events(m.t.Context(), m.spec.Run, 0) {
		if err != nil {
			m.t.Fatal(err)
		}
		if !e.Follows(head) {
			m.t.Fatalf("event %d does not follow the one before", e.Seq)
		}
		head = e.Head()
	}
	effects, err := store.Effects(m.st.Events(m.t.Context(), m.spec.Run, 0))
	if err != nil {
		m.t.Fatal(err)
	}
	round := map[string]int{}
	for _, x := range effects {
		if x.Kind != "model" {
			continue
		}
		_, branch, _ := strings.Cut(x.Path, "/")
		at := fmt.Sprintf("%s-%d", branch, round[branch])
		round[branch]++
		if _, ok := m.frozen[at]; x.Done && !ok {
			m.frozen[at] = m.asked.count(at)
		}
	}
	return effects
}

// settle answers the review from what the tool has left behind.
func (m *matrix) settle(review []int64) {
	m.t.Helper()
	var want []int64
	text := map[int64]string{}
	for _, x := range m.effects() {
		if x.Class == "mutating" && x.Open() {
			want = append(want, x.ID)
			_, call, _ := strings.Cut(x.Path, ":send-")
			text[x.ID] = call
		}
	}
	if diff := cmp.Diff(want, review); diff != "" || len(review) == 0 {
		m.t.Fatalf("the review is not of what has no result: %s", diff)
	}
	calls, _ := os.ReadFile(m.spec.Calls)
	for _, id := range review {
		s := store.Settled{Effect: id, Verdict: store.VerdictNotDone, By: "test"}
		if slices.Contains(strings.Split(string(calls), "\n"), "send "+text[id]) {
			value, _ := json.Marshal(noted("send", text[id]))
			s = store.Settled{Effect: id, Verdict: store.VerdictResult, Value: value, By: "test"}
		}
		if err := run.New(m.st, nil).Settle(m.t.Context(), m.spec.Run, s); err != nil {
			m.t.Fatal(err)
		}
	}
}

// drive kills and resumes until the run has ended, and returns how often it killed.
func (m *matrix) drive(most int, life time.Duration) (out crashResult, kills, reviews int) {
	m.t.Helper()
	for {
		after := time.Duration(0)
		if kills < most {
			after = time.Duration(rand.Int64N(int64(life)))
		}
		out = crashResult{}
		killed := !process(m.t, m.spec, later(after), &out)
		if killed {
			kills++
		}
		_, err := m.st.Run(m.t.Context(), m.spec.Run)
		m.spec.Resume = err == nil // else it was killed before it began
		switch {
		case killed:
			m.effects()
		case out.State == store.NeedsReview:
			reviews++
			m.settle(out.Review)
		default:
			return out, kills, reviews
		}
	}
}

// check looks at a run that has ended.
func (m *matrix) check() {
	m.t.Helper()
	m.effects()
	for at, n := range m.frozen {
		if now := m.asked.count(at); now != n {
			m.t.Errorf("%s: the model was asked again after its answer was on record: %d, then %d times", at, n, now)
		}
	}
	calls, err := os.ReadFile(m.spec.Calls)
	if err != nil {
		m.t.Fatal(err)
	}
	count := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(calls)), "\n") {
		count[line]++
	}
	for line, n := range count {
		if strings.HasPrefix(line, "send ") && n > 1 {
			m.t.Errorf("%q ran %d times", line, n)
		}
	}
	if len(count) != branches*rounds*3 {
		m.t.Errorf("%d different calls", len(count))
	}
}

// A workflow of 200 effects is killed at random points and resumed. Every run ends as
// one that was never killed.
func TestCrashMatrix(t *testing.T) {
	kills := *crashes
	switch {
	case kills > 0:
	case testing.Short() || underRace:
		kills = 5
	default:
		kills = 100
	}
	db := filepath.Join(t.TempDir(), "rath.db")
	st, err := sqlite.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	reference := newMatrix(t, st, db)
	begin := time.Now()
	want, _, _ := reference.drive(0, 0)
	life := time.Since(begin)
	reference.check()
	if n := len(reference.effects()); want.State != store.Succeeded || n < 200 {
		t.Fatalf("%+v, %d effects", want, n)
	}
	runs, reviews := 0, 0
	for left := kills; left > 0; runs++ {
		m := newMatrix(t, st, db)
		got, k, r := m.drive(min(left, 5), life)
		if got.State != store.Succeeded || got.Digest != want.Digest {
			t.Fatalf("run %s: %+v, want %+v", m.spec.Run, got, want)
		}
		m.check()
		left, reviews = left-k, reviews+r
	}
	t.Logf("%d kills in %d runs, %d reviews; a run takes %v", kills, runs, reviews, life)
	reference.replay(want.Digest)
}

// replay repeats the run with the server gone and tools that must not run.
func (m *matrix) replay(want session.Digest) {
	m.t.Helper()
	calls, _ := os.ReadFile(m.spec.Calls)
	m.spec.URL = "http://127.0.0.1:1"
	w, err := m.spec.workflow()
	if err != nil {
		m.t.Fatal(err)
	}
	out, err := run.New(m.st, nil).Replay(m.t.Context(), m.spec.Run, w)
	if err != nil || out.Digest() != want {
		m.t.Errorf("replay: %v, digest %s", err, out.Digest())
	}
	if after, _ := os.ReadFile(m.spec.Calls); !bytes.Equal(after, calls) {
		m.t.Error("a tool ran in the replay")
	}
	var changed *run.Divergence
	if w, err = m.spec.workflow(); err != nil {
		m.t.Fatal(err)
	}
	w.(*flow.Parallel).Branches[3].(*flow.Agent).Prompt = "another"
	if _, err := run.New(m.st, nil).Replay(m.t.Context(), m.spec.Run, w); !errors.As(err, &changed) || changed.Path != "3/b3" || changed.Field != "input.prompt.digest" {
		m.t.Errorf("a changed prompt: %v", err)
	}
	if w, err = m.spec.workflow(); err != nil {
		m.t.Fatal(err)
	}
	put := w.(*flow.Parallel).Branches[5].(*flow.Agent).Tools.Find("put")
	put.Schema = json.RawMessage(strings.Replace(string(put.Schema), `"string"`, `"integer"`, 1))
	if _, err := run.New(m.st, nil).Replay(m.t.Context(), m.spec.Run, w); !errors.As(err, &changed) || changed.Path != "5/b5" || changed.Field != "input.tools[put].schema.properties.text.type" {
		m.t.Errorf("a changed schema: %v", err)
	}
	if w, err = m.spec.workflow(); err != nil {
		m.t.Fatal(err)
	}
	b := w.(*flow.Parallel).Branches
	b[1], b[6] = b[6], b[1]
	if _, err := run.New(m.st, nil).Replay(m.t.Context(), m.spec.Run, w); !errors.As(err, &changed) || changed.Path != "1/b6" && changed.Path != "6/b1" {
		m.t.Errorf("another order of the branches: %v", err)
	}
}
