package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/anthropic"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type textInput struct {
	Text string `json:"text"`
}

func upper() *tool.Tool {
	t := tool.New("upper", "Put a text into capitals.", func(_ context.Context, in textInput) (string, error) {
		return strings.ToUpper(in.Text), nil
	})
	t.Class = effect.ReadOnly
	return t
}

// helper answers "use" with a call of upper, and a result with its text.
func helper(req *llm.Request) scripted.Reply {
	last := req.Messages.Last()
	if last.Kind() == session.KindToolResult {
		return scripted.Reply{Text: "got " + last.Text(), Usage: &session.Usage{Input: 10, Output: 2}}
	}
	args, _ := json.Marshal(textInput{last.Text()})
	return scripted.Reply{Calls: []session.Call{scripted.Call("upper", string(args))}, Usage: &session.Usage{Input: 5, Output: 1}}
}

func kindsOf(s session.Session) (out []string) {
	for _, c := range s.All() {
		out = append(out, c.Kind().String())
	}
	return out
}

func TestAgent(t *testing.T) {
	a := &flow.Agent{Name: "caps", Prompt: "You shout.", Model: scripted.Func(helper), Tools: tool.Set{upper()}}
	in := session.FromUser("hello")
	out, err := a.Forward(t.Context(), in)
	if err != nil || out.Text() != "got HELLO" {
		t.Fatalf("%q, %v", out.Text(), err)
	}
	if diff := cmp.Diff([]string{"user", "assistant", "tool_result", "assistant"}, kindsOf(out)); diff != "" {
		t.Error(diff)
	}
	l := out.Lineage()
	if l.Op != session.OpForward || l.Path != "caps" || len(l.Parents) != 2 || l.Parents[0] != (session.Parent{ID: in.ID(), Role: session.RoleInput}) || l.Parents[1].Role != session.RolePrompt {
		t.Errorf("%+v", l)
	}
	if u := out.Usage(); u.Input != 15 || u.Output != 3 || u.Calls != 2 {
		t.Errorf("%+v", u)
	}
	again, _ := a.Forward(t.Context(), in)
	if again.Lineage().Parents[1] != l.Parents[1] {
		t.Error("the prompt's session is made anew each time")
	}
}

func TestAgentErrors(t *testing.T) {
	fatal := tool.New("upper", "", func(context.Context, textInput) (string, error) {
		return "", fmt.Errorf("the disk is gone: %w", tool.ErrFatal)
	})
	call := scripted.Reply{Calls: []session.Call{scripted.Call("upper", `{"text":"x"}`)}}
	for _, test := range []struct {
		name   string
		agent  *flow.Agent
		check  func(error) bool
		chunks int
		extra  string
	}{
		{"no model", &flow.Agent{}, func(err error) bool { return strings.Contains(err.Error(), "no model") }, 1, ""},
		{"model fails", &flow.Agent{Model: scripted.New(call, scripted.Reply{Error: &llm.Error{Kind: llm.ErrAuth, Status: 401}}), Tools: tool.Set{upper()}},
			func(err error) bool { var e *llm.Error; return errors.As(err, &e) && e.Kind == llm.ErrAuth }, 3, "loop.error"},
		{"fatal tool", &flow.Agent{Model: scripted.New(call), Tools: tool.Set{fatal}}, func(err error) bool { return errors.Is(err, tool.ErrFatal) }, 3, "loop.error"},
		{"no end", &flow.Agent{Model: scripted.Func(func(*llm.Request) scripted.Reply { return call }), Tools: tool.Set{upper()}, MaxSteps: 3},
			func(err error) bool { return errors.Is(err, flow.ErrMaxSteps) }, 1 + 4*2, "loop.truncated"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.agent.Name = "a"
			out, err := test.agent.Forward(t.Context(), session.FromUser("x"))
			var e *flow.Error
			if !errors.As(err, &e) || e.Path != "a" || e.Session != out.ID() || !test.check(err) {
				t.Errorf("error %#v", err)
			}
			if out.Len() != test.chunks || len(out.Transcript().OpenCalls()) > 0 {
				t.Errorf("%d chunks: %v", out.Len(), kindsOf(out))
			}
			if test.extra != "" && out.Lineage().Extras[0].Key != test.extra {
				t.Errorf("extras %v", out.Lineage().Extras)
			}
		})
	}
}

func TestBadCallsGoToTheModel(t *testing.T) {
	m := scripted.New(scripted.Reply{Calls: []session.Call{
		scripted.Call("nope", `{}`), scripted.Call("upper", `not json`), scripted.Call("upper", `{"text":1}`), scripted.Call("upper", `{"text":"x","more":1}`),
	}}, scripted.Reply{Text: "sorry"})
	out, err := (&flow.Agent{Model: m, Tools: tool.Set{upper()}}).Forward(t.Context(), session.FromUser("x"))
	if err != nil || out.Text() != "sorry" {
		t.Fatal(out.Text(), err)
	}
	for i, kind := range []string{"unknown_tool", "invalid_tool_arguments", "invalid_tool_arguments", "invalid_tool_arguments"} {
		c := out.At(2 + i)
		if !strings.HasPrefix(c.Text(), `{"ok":false,"error_kind":"`+kind+`"`) || c.Answer().Outcome != session.Failed {
			t.Errorf("%d: %s", i, c.Text())
		}
	}
}

// A stream that breaks keeps the words that came, and no half call.
func TestCutStreamKeepsWords(t *testing.T) {
	s := llmtest.NewServer(t, scripted.Reply{Text: strings.Repeat("word ", 40), Calls: []session.Call{scripted.Call("upper", `{"text":"x"}`)}})
	s.SetQuirks(llmtest.Quirks{CutAfter: 1500})
	client := llm.NewHTTPClient()
	defer client.CloseIdleConnections()
	m, err := openai.Open("m", &openai.Options{BaseURL: s.URL, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	out, err := (&flow.Agent{Model: m, Tools: tool.Set{upper()}}).Forward(t.Context(), session.FromUser("x"))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrConnection {
		t.Fatal(err)
	}
	if out.Len() != 2 || !strings.HasPrefix(out.Text(), "word word") || out.At(1).NumCalls() != 0 {
		t.Errorf("%q", out.Text())
	}
}

func TestContinuesAfterInterruption(t *testing.T) {
	open := session.New(session.User(session.Text("x")), session.Assistant(nil, session.Call{ID: "c", Name: "upper", Arguments: "{}"}))
	out, err := (&flow.Agent{Model: scripted.New(scripted.Reply{Text: "ok"})}).Forward(t.Context(), open)
	if err != nil || out.At(2).Answer().Outcome != session.Interrupted || out.Text() != "ok" {
		t.Errorf("%v, %v", kindsOf(out), err)
	}
}

// recording is a journal of a whole run: it records, and then replays with nothing live.
type recording struct {
	mu     sync.Mutex
	replay bool
	seen   map[string]int
	kept   map[string]effect.Outcome
	missed []string
}

func (r *recording) Begin(_ context.Context, path string, call effect.Call) (effect.Entry, error) {
	input, err := json.Marshal(call.Input)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := path + " " + call.Kind + " " + call.Name + " " + string(input)
	r.seen[key]++
	key += fmt.Sprint(" #", r.seen[key])
	out, ok := r.kept[key]
	if r.replay && !ok {
		r.missed = append(r.missed, key)
		return nil, errors.New("diverged at " + key)
	}
	return &recorded{r, key, out, r.replay}, nil
}

func (r *recording) Knows(path string, call effect.Call) bool {
	input, _ := json.Marshal(call.Input)
	r.mu.Lock()
	defer r.mu.Unlock()
	key := path + " " + call.Kind + " " + call.Name + " " + string(input)
	_, ok := r.kept[key+fmt.Sprint(" #", r.seen[key]+1)]
	return ok && r.replay
}

type recorded struct {
	r   *recording
	key string
	out effect.Outcome
	ok  bool
}

func (e *recorded) Recorded() (effect.Outcome, bool)            { return e.out, e.ok }
func (e *recorded) Context(ctx context.Context) context.Context { return ctx }

func (e *recorded) End(_ context.Context, out effect.Outcome) error {
	e.r.mu.Lock()
	defer e.r.mu.Unlock()
	data, err := json.Marshal(out) // as a journal on disk would
	if err != nil {
		return err
	}
	var back effect.Outcome
	err = json.Unmarshal(data, &back)
	e.r.kept[e.key] = back
	return err
}

// A whole workflow (two agents in parallel branches, tools, a reply with an error result)
// is recorded over real HTTP and replayed with the server gone and the tools unplugged.
func TestRecordAndReplayWithoutNetwork(t *testing.T) {
	s := llmtest.NewFuncServer(t, func(req *llmtest.Request) scripted.Reply {
		last := req.Messages[len(req.Messages)-1]
		if len(last.Results) > 0 {
			return scripted.Reply{Text: "done after " + last.Text, Reasoning: "hm", Usage: &session.Usage{Input: 3, Output: 4}}
		}
		return scripted.Reply{Calls: []session.Call{scripted.Call("upper", `{"text":"`+last.Text+`"}`), scripted.Call("nope", `{}`)}}
	})
	client := llm.NewHTTPClient()
	defer client.CloseIdleConnections()
	oa, err := openai.Open("m", &openai.Options{BaseURL: s.URL, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	an, err := anthropic.Open("m", &anthropic.Options{BaseURL: s.URL, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	live := true
	loud := upper()
	run := loud.Run
	loud.Run = func(ctx context.Context, args json.RawMessage) (tool.Result, error) {
		if !live {
			t.Error("a tool ran in the replay")
		}
		return run(ctx, args)
	}
	w := &flow.Parallel{Branches: []flow.Workflow{
		&flow.Agent{Name: "a", Model: oa, Tools: tool.Set{loud}},
		flow.Sequence{&flow.Agent{Name: "b", Prompt: "p", Model: an, Tools: tool.Set{loud}}},
	}}
	rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
	first, err := w.Forward(effect.WithJournal(t.Context(), rec), session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	live = false
	rec.replay, rec.seen = true, map[string]int{}
	var deltas atomic.Int64
	ctx := flow.Observe(effect.WithJournal(t.Context(), rec), func(e flow.Event) {
		if _, ok := e.(flow.Delta); ok {
			deltas.Add(1)
		}
	})
	second, err := w.Forward(ctx, session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	if first.Digest() != second.Digest() || first.Total() != second.Total() || first.Len() < 8 {
		t.Errorf("replay differs: %d chunks, %d chunks", first.Len(), second.Len())
	}
	if deltas.Load() == 0 {
		t.Error("the replay shows no deltas")
	}
	if _, err := w.Forward(effect.WithJournal(t.Context(), &recording{replay: true, seen: map[string]int{}, kept: rec.kept}), session.FromUser("y")); err == nil {
		t.Error("another input replays as well")
	}
}

// The issue's load: over real HTTP on both protocols, streamed and not.
func TestTenThousandRuns(t *testing.T) {
	runs, parallel := 10_000, 128
	if testing.Short() {
		runs = 400
	}
	s := llmtest.NewFuncServer(t, func(req *llmtest.Request) scripted.Reply {
		last := req.Messages[len(req.Messages)-1]
		if len(last.Results) > 0 {
			return scripted.Reply{Text: "got it", Usage: &session.Usage{Input: 10, Output: 2}}
		}
		return scripted.Reply{Calls: []session.Call{scripted.Call("upper", `{"text":"`+last.Text+`"}`)}}
	})
	client := llm.NewHTTPClient()
	defer client.CloseIdleConnections()
	oa, err := openai.Open("m", &openai.Options{BaseURL: s.URL, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	an, err := anthropic.Open("m", &anthropic.Options{BaseURL: s.URL, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	var agents []*flow.Agent
	for _, m := range []llm.Model{oa, an} {
		for _, noStream := range []bool{false, true} {
			agents = append(agents, &flow.Agent{Model: m, Tools: tool.Set{upper()}, Params: llm.Params{NoStream: noStream}})
		}
	}
	var wg sync.WaitGroup
	var next, wrong atomic.Int64
	for range parallel {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(runs); i = next.Add(1) {
				out, err := agents[i%int64(len(agents))].Forward(t.Context(), session.FromUser(fmt.Sprint("n", i)))
				if err != nil || out.Len() != 4 || out.Text() != "got it" || out.At(2).Text() != fmt.Sprint("N", i) {
					if wrong.Add(1) < 5 {
						t.Errorf("run %d: %q, %v", i, out.Text(), err)
					}
				}
			}
		})
	}
	wg.Wait()
	if wrong.Load() > 0 {
		t.Errorf("%d runs of %d are wrong", wrong.Load(), runs)
	}
	client.CloseIdleConnections()
}

func TestParallelMerges(t *testing.T) {
	say := func(name string) *flow.Agent {
		return &flow.Agent{Name: name, Model: scripted.Func(func(*llm.Request) scripted.Reply { return scripted.Reply{Text: name} })}
	}
	in := session.FromUser("x")
	out, err := (&flow.Parallel{Branches: []flow.Workflow{say("a"), say("b"), flow.Done, say("c")}, Limit: 2}).Forward(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, c := range out.All() {
		texts = append(texts, c.Text())
	}
	if diff := cmp.Diff([]string{"x", "a", "b", "c"}, texts); diff != "" {
		t.Error(diff)
	}
	if got, err := (&flow.Parallel{}).Forward(t.Context(), in); got.ID() != in.ID() || err != nil {
		t.Error("no branches are not the identity")
	}
}

func TestParallelErrorCancelsAndKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		slow := &flow.Agent{Name: "slow", Model: scripted.New(scripted.Reply{Text: "never", Delay: time.Hour})}
		bad := flow.Func(func(_ context.Context, s session.Session) (session.Session, error) {
			time.Sleep(time.Second)
			return s.Append(session.Assistant([]session.Part{session.Text("half")})), boom
		})
		out, err := (&flow.Parallel{Branches: []flow.Workflow{slow, bad}}).Forward(t.Context(), session.FromUser("x"))
		var e *flow.Error
		if !errors.Is(err, boom) || !errors.As(err, &e) || e.Path != "1" {
			t.Errorf("%#v", err)
		}
		if out.Text() != "half" {
			t.Errorf("what the branches had done is lost: %v", kindsOf(out))
		}
	})
}

func TestFuture(t *testing.T) {
	release := make(chan struct{})
	wait := flow.Func(func(_ context.Context, s session.Session) (session.Session, error) {
		<-release
		return s.Append(session.Assistant([]session.Part{session.Text("late")})), nil
	})
	in := session.FromUser("x")
	f := flow.Go(t.Context(), wait, in)
	id := f.ID()
	if diff := cmp.Diff([]session.Parent{{ID: in.ID(), Role: session.RoleInput}}, f.Parents()); diff != "" {
		t.Error(diff)
	}
	close(release)
	out, err := f.Wait()
	if err != nil || out.ID() != id || out.Text() != "late" || out.Lineage().Parents[0].ID != in.ID() || len(out.Lineage().Parents) != 2 {
		t.Errorf("%+v, %v", out.Lineage(), err)
	}
	agent := &flow.Agent{Model: scripted.New(scripted.Reply{Text: "now"})}
	f = flow.Go(t.Context(), agent, in)
	if out, _ := f.Wait(); out.ID() != f.ID() || len(out.Lineage().Parents) != 1 {
		t.Errorf("an agent's own session has another id: %+v", out.Lineage())
	}
}

func TestEvents(t *testing.T) {
	a := &flow.Agent{Name: "a", Model: scripted.Func(helper), Tools: tool.Set{upper()}}
	var got []string
	var last flow.End
	for e, err := range flow.Events(t.Context(), a, session.FromUser("hi")) {
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(fmt.Sprintf("%T", e), "flow.")
		if len(got) == 0 || got[len(got)-1] != name {
			got = append(got, name)
		}
		if end, ok := e.(flow.End); ok {
			last = end
		}
	}
	want := []string{"Begin", "Delta", "Reply", "Call", "Result", "Added", "Delta", "Reply", "End"}
	if diff := cmp.Diff(want, got); diff != "" || last.Session.Text() != "got HI" {
		t.Errorf("%q\n%s", last.Session.Text(), diff)
	}
}

func TestEventsSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &flow.Agent{Model: scripted.Func(helper), Tools: tool.Set{upper()}}
		begin := time.Now()
		var finished time.Duration
		ctx := flow.Observe(t.Context(), func(e flow.Event) {
			if _, ok := e.(flow.End); ok {
				finished = time.Since(begin)
			}
		})
		for range flow.Events(ctx, a, session.FromUser("hi")) {
			time.Sleep(time.Minute)
		}
		if finished != 0 {
			t.Errorf("the reader held up the run for %v", finished)
		}
	})
}

func TestEventsLeftEarlyCancels(t *testing.T) {
	cancelled := make(chan struct{})
	w := flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		flow.Emit(ctx, flow.Call{})
		<-ctx.Done()
		close(cancelled)
		return s, ctx.Err()
	})
	for range flow.Events(t.Context(), w, session.FromUser("x")) {
		break
	}
	select {
	case <-cancelled:
	default:
		t.Error("the run went on after its reader had left")
	}
}

type review struct {
	Draft  *flow.Agent
	Checks *flow.Parallel
	Routes map[string]flow.Workflow
	Next   flow.Workflow
	hidden *flow.Agent
}

func (*review) Forward(_ context.Context, s session.Session) (session.Session, error) { return s, nil }

func tree() *review {
	m := scripted.New()
	r := &review{
		Draft:  &flow.Agent{Name: "draft", Model: m, Tools: tool.Set{upper()}},
		Checks: &flow.Parallel{Branches: []flow.Workflow{&flow.Agent{Name: "style", Model: m}, flow.Sequence{flow.Done}}},
		Routes: map[string]flow.Workflow{"b": flow.Done, "a": &flow.Label{Name: "l", Workflow: flow.Done}},
		hidden: &flow.Agent{},
	}
	r.Next = r
	return r
}

func TestInspectAndPrint(t *testing.T) {
	var paths []string
	for path := range flow.Inspect(tree()) {
		paths = append(paths, path)
	}
	want := []string{"", "Draft", "Checks", "Checks.Branches[0]", "Checks.Branches[1]", "Checks.Branches[1].[0]", `Routes["a"]`, `Routes["a"].Workflow`, `Routes["b"]`}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
	var b strings.Builder
	if err := flow.Fprint(&b, tree()); err != nil {
		t.Fatal(err)
	}
	text := `review(
  (Draft): Agent("draft", scripted:, tools: upper)
  (Checks): Parallel(
    (Branches[0]): Agent("style", scripted:)
    (Branches[1]): Sequence(
      ([0]): Done
    )
  )
  (Routes["a"]): Label("l")(
    (Workflow): Done
  )
  (Routes["b"]): Done
  (Next): review, again
)
`
	if diff := cmp.Diff(text, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestCheck(t *testing.T) {
	bad := &review{Draft: &flow.Agent{Tools: tool.Set{upper(), upper(), {Name: "x"}}}, Checks: &flow.Parallel{Branches: []flow.Workflow{nil}}}
	bad.Next = bad
	err := flow.Check(bad)
	if err == nil {
		t.Fatal("nothing was found")
	}
	for _, want := range []string{"Draft: no model", "tool upper: there are two", `tool "x"`, "Checks.Branches[0]: no workflow", "Next: review holds itself"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if err := flow.Check(flow.Sequence{&flow.Agent{Model: scripted.New()}}); err != nil {
		t.Error(err)
	}
}

// One run in process: two model calls, one tool.
func BenchmarkAgentInProcess(b *testing.B) {
	a := &flow.Agent{Model: scripted.Func(func(req *llm.Request) scripted.Reply {
		if req.Messages.Last().Kind() == session.KindToolResult {
			return scripted.Reply{Text: "done"}
		}
		return scripted.Reply{Calls: []session.Call{{ID: "c", Name: "upper", Arguments: `{"text":"hello"}`}}}
	}), Tools: tool.Set{upper()}}
	in := session.FromUser("hello")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Forward(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleAgent() {
	count := tool.New("word_count", "Count the words of a text.",
		func(_ context.Context, in textInput) (int, error) { return len(strings.Fields(in.Text)), nil })
	agent := &flow.Agent{
		Prompt: "Use the tool, then answer briefly.",
		Model:  scripted.New(scripted.Reply{Calls: []session.Call{scripted.Call("word_count", `{"text":"a b c"}`)}}, scripted.Reply{Text: "Three."}),
		Tools:  tool.Set{count},
	}
	out, err := agent.Forward(context.Background(), session.FromUser("How many words has: a b c"))
	fmt.Println(out.At(2).Text(), out.Text(), err)
	// Output: 3 Three. <nil>
}
