package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// caller calls a tool with each of the arguments in one reply, then says what it got.
func caller(name string, arguments ...string) *scripted.Model {
	return scripted.Func(func(req *llm.Request) scripted.Reply {
		if last := req.Messages.Last(); last.Kind() == session.KindToolResult {
			return scripted.Reply{Text: "got " + last.Text(), Usage: &session.Usage{Input: 10, Output: 1}}
		}
		var calls []session.Call
		for i, a := range arguments {
			call := scripted.Call(name, a)
			call.ID = fmt.Sprint("call_", i)
			calls = append(calls, call)
		}
		return scripted.Reply{Calls: calls, Usage: &session.Usage{Input: 10, Output: 1}}
	})
}

func parentsOf(s session.Session, role session.Role) (ids []session.ID) {
	for _, p := range s.Lineage().Parents {
		if p.Role == role {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// Two calls of an agent in one reply, each with a session of its own, in the graph and in
// what it cost; replayed without them.
func TestAsTool(t *testing.T) {
	worker := &flow.Agent{Name: "re searcher", Description: "Finds out.", Model: scripted.Func(helper), Tools: tool.Set{upper()}}
	boss := &flow.Agent{Name: "boss", Prompt: "p", Tools: tool.Set{flow.AsTool(worker, nil)},
		Model: caller("re_searcher", `{"task":"one"}`, `{"task":"two"}`)}
	rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
	began := map[session.ID]session.Session{}
	ctx := flow.Observe(effect.WithJournal(t.Context(), rec), func(e flow.Event) {
		if end, ok := e.(flow.End); ok {
			began[end.Session.ID()] = end.Session
		}
	})
	in := session.FromUser("x")
	out, err := boss.Forward(ctx, in)
	if err != nil || out.Text() != "got got TWO" || out.At(2).Text() != "got ONE" || out.Len() != 5 {
		t.Fatalf("%v, %v", out.Text(), err)
	}
	made := parentsOf(out, flow.RoleTool)
	if len(made) != 2 {
		t.Fatalf("%+v", out.Lineage())
	}
	for i, id := range made {
		child := began[id]
		task := child.Parents()[0]
		if child.Len() != 4 || task.Text() != []string{"one", "two"}[i] || !slices.Equal(parentsOf(task, flow.RoleCaller), []session.ID{in.ID()}) {
			t.Errorf("%v, %+v", kindsOf(child), task.Lineage())
		}
		if want := fmt.Sprintf("boss/re_searcher:call_%d/re searcher", i); child.Lineage().Path != want {
			t.Error(child.Lineage().Path)
		}
	}
	if total := out.Total(); total.Calls != 2+2*2 || total.Input != 2*10+2*15 || out.Usage().Calls != 2 {
		t.Errorf("%+v", total)
	}
	// The whole calls are answered from the record, and the lineage is the same.
	worker.Model = nil
	rec.replay, rec.seen = true, map[string]int{}
	again, err := boss.Forward(effect.WithJournal(t.Context(), rec), session.FromUser("x"))
	if err != nil || again.ID() != out.ID() || again.Digest() != out.Digest() || !slices.Equal(parentsOf(again, flow.RoleTool), made) {
		t.Errorf("%+v, %v", again.Lineage(), err)
	}
}

// A call that was stopped in its middle is entered again: what was done within is answered.
func TestAsToolGoesOnWithin(t *testing.T) {
	var asked atomic.Int64
	model := scripted.Func(func(req *llm.Request) scripted.Reply {
		asked.Add(1)
		return helper(req)
	})
	worker := &flow.Agent{Name: "worker", Model: model, Tools: tool.Set{upper()}}
	boss := &flow.Agent{Name: "boss", Model: caller("worker", `{"task":"one"}`), Tools: tool.Set{flow.AsTool(worker, nil)}}
	rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
	first, err := boss.Forward(effect.WithJournal(t.Context(), rec), session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for key := range rec.kept { // as if the process had ended before the tool did
		if strings.HasPrefix(key, "boss/worker:call_0 tool worker") {
			delete(rec.kept, key)
			lost++
		}
	}
	partial := &resuming{recording{replay: true, seen: map[string]int{}, kept: rec.kept}}
	before := asked.Load()
	second, err := boss.Forward(effect.WithJournal(t.Context(), partial), session.FromUser("x"))
	if err != nil || lost != 1 || asked.Load() != before || second.Digest() != first.Digest() || second.ID() != first.ID() {
		t.Errorf("%d lost, %d asked again, %v", lost, asked.Load()-before, err)
	}
	if second.Total() != first.Total() {
		t.Error("what the worker cost is lost")
	}
}

// resuming answers what it knows, and goes on live.
type resuming struct{ recording }

func (r *resuming) Begin(ctx context.Context, path string, call effect.Call) (effect.Entry, error) {
	r.mu.Lock()
	known := len(r.missed)
	r.mu.Unlock()
	e, err := r.recording.Begin(ctx, path, call)
	if err == nil {
		return e, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &recorded{&r.recording, r.missed[known], effect.Outcome{}, false}, nil
}

func TestAsToolErrors(t *testing.T) {
	half := flow.Func(func(_ context.Context, s session.Session) (session.Session, error) {
		return s.Append(session.Assistant([]session.Part{session.Text("half")})), errors.New("boom")
	})
	boss := &flow.Agent{Model: caller("half", `{"task":"x"}`), Tools: tool.Set{flow.AsTool(&flow.Label{Name: "half", Workflow: half}, nil)}}
	out, err := boss.Forward(t.Context(), session.FromUser("x"))
	if err != nil || out.At(2).Answer().Outcome != session.Failed || !strings.Contains(out.At(2).Text(), "boom") || len(parentsOf(out, flow.RoleTool)) != 1 {
		t.Errorf("%q, %v, %+v", out.At(2).Text(), err, out.Lineage())
	}
	fatal := flow.Func(func(_ context.Context, s session.Session) (session.Session, error) { return s, tool.ErrFatal })
	boss.Tools = tool.Set{flow.AsTool(fatal, &flow.ToolOptions{Name: "half"})}
	if _, err := boss.Forward(t.Context(), session.FromUser("x")); !errors.Is(err, tool.ErrFatal) {
		t.Error(err)
	}
	ctx, err := flow.WithBudget(t.Context(), flow.Budget{Calls: 2})
	if err != nil {
		t.Fatal(err)
	}
	worker := &flow.Agent{Name: "half", Model: scripted.Func(again), Tools: tool.Set{upper()}}
	boss.Tools = tool.Set{flow.AsTool(worker, nil)}
	if _, err := boss.Forward(ctx, session.FromUser("x")); !errors.Is(err, flow.ErrBudgetExceeded) || spent(t, ctx).Usage.Calls != 2 {
		t.Errorf("%v, %+v", err, spent(t, ctx))
	}
}

// An agent that calls itself for ever is stopped by the depth, and told so.
func TestAsToolDepth(t *testing.T) {
	for most, want := range map[int]int{0: flow.DefaultMaxDepth, 2: 2} {
		deepest := 0
		self := &flow.Agent{Name: "self", Model: caller("self", `{"task":"deeper"}`)}
		self.Tools = tool.Set{flow.AsTool(self, &flow.ToolOptions{MaxDepth: most})}
		ctx := flow.Observe(t.Context(), func(e flow.Event) { deepest = max(deepest, strings.Count(e.Where().Path, "self:")) })
		out, err := self.Forward(ctx, session.FromUser("x"))
		if err != nil || deepest != want || !strings.Contains(out.Text(), flow.ErrDepth.Error()) {
			t.Errorf("%d deep, %q, %v", deepest, out.Text(), err)
		}
		if err := flow.Check(self); err != nil {
			t.Errorf("what is bounded is no error: %v", err)
		}
		var b strings.Builder
		if err := flow.Fprint(&b, self); err != nil || !strings.Contains(b.String(), `(Tools["self"]): Agent("self", scripted:, tools: self), again`) {
			t.Errorf("%s%v", b.String(), err)
		}
	}
}

// What is a tool of an agent is checked, printed and part of the fingerprint.
func TestAsToolIsSeen(t *testing.T) {
	worker := &flow.Agent{Name: "worker"}
	boss := &flow.Agent{Model: scripted.New(), Tools: tool.Set{upper(), flow.AsTool(flow.Sequence{worker}, &flow.ToolOptions{Name: "do"})}}
	if err := flow.Check(boss); err == nil || err.Error() != `Tools["do"].[0]: no model is set` {
		t.Error(err)
	}
	worker.Model = scripted.New()
	before := flow.Fingerprint(boss)
	worker.Prompt = "p"
	if flow.Fingerprint(boss) == before {
		t.Error("another prompt has the same fingerprint")
	}
	holds := flow.Sequence{nil}
	holds[0] = holds
	if err := flow.Check(&flow.Agent{Model: scripted.New(), Tools: tool.Set{flow.AsTool(holds, nil)}}); err == nil || !strings.Contains(err.Error(), "holds itself") {
		t.Error(err)
	}
}

func ExampleAsToolOf() {
	type question struct {
		Country string `json:"country"`
	}
	geographer := &flow.Agent{Name: "geographer", Description: "Knows countries.", Model: scripted.Func(func(req *llm.Request) scripted.Reply {
		return scripted.Reply{Text: "You ask: " + req.Messages.Last().Text()}
	})}
	capital := flow.AsToolOf(geographer, func(in question) string { return "What is the capital of " + in.Country + "?" }, &flow.ToolOptions{Name: "capital"})
	agent := &flow.Agent{
		Model: scripted.New(scripted.Reply{Calls: []session.Call{scripted.Call("capital", `{"country":"France"}`)}}, scripted.Reply{Text: "Paris."}),
		Tools: tool.Set{capital},
	}
	out, err := agent.Forward(context.Background(), session.FromUser("France?"))
	fmt.Println(out.At(2).Text(), out.Text(), err)
	// Output: You ask: What is the capital of France? Paris. <nil>
}
