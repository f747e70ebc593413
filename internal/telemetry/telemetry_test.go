package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/telemetry"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/openrath-go/rath/tool"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

type textInput struct {
	Text string `json:"text"`
}

// look is a tool that makes a span of its own, as an HTTP client would.
func look() *tool.Tool {
	t := tool.New("look", "Look something up.", func(ctx context.Context, in textInput) (string, error) {
		_, span := otel.Tracer("test").Start(ctx, "GET", trace.WithSpanKind(trace.SpanKindClient))
		defer span.End()
		return "seen: " + in.Text, nil
	})
	t.Class = effect.ReadOnly
	return t
}

func broken() *tool.Tool {
	t := tool.New("broken", "", func(context.Context, textInput) (string, error) { return "", errors.New("private words") })
	t.Class = effect.ReadOnly
	return t
}

// calling is an agent that calls both tools at once, then answers. Its model fails once
// before it answers.
func calling(name string) *flow.Agent {
	failed := false
	model := scripted.Func(func(req *llm.Request) scripted.Reply {
		switch {
		case req.Messages.Last().Kind() != session.KindToolResult:
			a, b := scripted.Call("look", `{"text":"hidden"}`), scripted.Call("broken", `{"text":"x"}`)
			a.ID, b.ID = "call_1", "call_2"
			return scripted.Reply{Calls: []session.Call{a, b}, Usage: &session.Usage{Calls: 1, Input: 100, Output: 10, CacheRead: 64, Reasoning: 4}}
		case !failed:
			failed = true
			return scripted.Reply{Error: &llm.Error{Kind: llm.ErrRateLimit, Status: 429, Message: "private words"}}
		}
		return scripted.Reply{Text: "the hidden answer", Usage: &session.Usage{Calls: 1, Input: 130, Output: 5}}
	})
	temperature := 0.5
	return &flow.Agent{
		Name: name, Description: "Finds out.", Prompt: "Be brief.", Tools: tool.Set{look(), broken()},
		Model:  &llm.Retry{Model: model, Base: time.Millisecond},
		Params: llm.Params{Temperature: &temperature, MaxTokens: 500},
	}
}

func TestAgents(t *testing.T) {
	h := listen(t)
	ctx, span := telemetry.StartRun(t.Context(), telemetry.Start{Name: "find"})
	program := flow.Sequence{&flow.Parallel{Branches: []flow.Workflow{calling("a"), calling("b")}}, &flow.Agent{Name: "c", Model: scripted.New()}}
	out, err := program.Forward(ctx, session.FromUser("hello"))
	if !errors.As(err, new(*llm.Error)) {
		t.Fatal(err)
	}
	span.End("failed", out.ID(), err)
	tree := h.tree()
	for _, want := range []string{
		"invoke_workflow find !bad_request\n  invoke_agent ", "\n  invoke_agent a\n    chat scripted\n", "\n  invoke_agent b\n    chat scripted\n",
		"\n    execute_tool look\n      GET\n", "\n    execute_tool broken !tool_execution_exception\n", "\n  invoke_agent c !bad_request\n    chat scripted !bad_request\n",
	} {
		if !strings.Contains(tree, want) {
			t.Errorf("no %q in\n%s", want, tree)
		}
	}
	for name, want := range map[string]int{"chat scripted": 5, "execute_tool look": 2, "execute_tool broken": 2, "GET": 2} {
		if got := len(h.named(name)); got != want {
			t.Errorf("%d spans %q, want %d", got, name, want)
		}
	}
	chat := "operation.name=chat,provider.name=scripted,request.model=scripted"
	want := []string{
		"gen_ai.client.operation.duration s " + "error.type=bad_request," + chat + " x1",
		"gen_ai.client.operation.duration s " + "error.type=tool_execution_exception,operation.name=execute_tool,provider.name=rath,tool.name=broken x2",
		"gen_ai.client.operation.duration s " + chat + " x4",
		"gen_ai.client.operation.duration s " + "operation.name=execute_tool,provider.name=rath,tool.name=look x2",
		"gen_ai.client.operation.time_to_first_chunk s " + chat + " x4",
		"gen_ai.client.token.usage {token} " + chat + ",token.type=input x4 sum 460",
		"gen_ai.client.token.usage {token} " + chat + ",token.type=output x4 sum 30",
	}
	if diff := gocmp.Diff(want, h.metrics(t)); diff != "" {
		t.Error(diff)
	}
}

func TestAttributes(t *testing.T) {
	h := listen(t)
	out, err := calling("a").Forward(t.Context(), session.FromUser("hello"))
	if err != nil {
		t.Fatal(err)
	}
	id := "gen_ai.conversation.id=" + out.ID().String()
	chats := h.named("chat scripted")
	check := func(about string, got, want []string) {
		t.Helper()
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", about, diff)
		}
	}
	check("chat", attributes(chats[0], "gen_ai.response.time_to_first_chunk", "gen_ai.response.id"), []string{
		id, "gen_ai.operation.name=chat", "gen_ai.provider.name=scripted",
		"gen_ai.request.max_tokens=500", "gen_ai.request.model=scripted", "gen_ai.request.stream=true", "gen_ai.request.temperature=0.5",
		`gen_ai.response.finish_reasons=["tool_calls"]`,
		"gen_ai.usage.cache_read.input_tokens=64", "gen_ai.usage.input_tokens=100", "gen_ai.usage.output_tokens=10", "gen_ai.usage.reasoning.output_tokens=4",
	})
	check("agent", attributes(h.named("invoke_agent a")[0]), []string{
		"gen_ai.agent.description=Finds out.", "gen_ai.agent.name=a", id, "gen_ai.operation.name=invoke_agent", "gen_ai.provider.name=scripted", "gen_ai.request.model=scripted",
	})
	failed := h.named("execute_tool broken")[0]
	check("tool", attributes(failed), []string{
		"error.type=tool_execution_exception", id, "gen_ai.operation.name=execute_tool", "gen_ai.tool.call.id=call_2", "gen_ai.tool.name=broken", "gen_ai.tool.type=function",
		"rath.tool.class=read_only", "rath.tool.outcome=failed",
	})
	if failed.Status.Description != "tool execution exception" {
		t.Errorf("the tool's status is %q", failed.Status.Description)
	}
	retried := chats[1].Events
	if len(retried) != 1 || of(retried[0].Attributes, "error.type") != "rate_limit" {
		t.Errorf("the attempt that failed is not told: %v", retried)
	}
	for _, s := range h.spans.GetSpans() {
		for _, secret := range []string{"hidden", "hello", "private", "Be brief"} {
			if said := fmt.Sprint(s); strings.Contains(said, secret) {
				t.Errorf("%s has %q, and nobody asked for content: %s", s.Name, secret, said)
			}
		}
	}
}

func TestContent(t *testing.T) {
	t.Setenv(telemetry.CaptureEnv, "true")
	h := listen(t)
	ctx := telemetry.WithScrub(t.Context(), func(raw json.RawMessage) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(string(raw), "hidden", "[gone]"))
	})
	in := session.New(session.User(session.Text("hello"), session.Image("image/png", []byte("pixels"))))
	if _, err := calling("a").Forward(ctx, in); err != nil {
		t.Fatal(err)
	}
	chat := h.named("chat scripted")[1].Attributes
	for key, want := range map[string]string{
		"gen_ai.system_instructions": `[{"type":"text","content":"Be brief."}]`,
		"gen_ai.output.messages":     `[{"role":"assistant","parts":[{"type":"text","content":"the [gone] answer"}],"finish_reason":"stop"}]`,
		"gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"hello"},` +
			`{"type":"uri","modality":"image","mime_type":"image/png","uri":"sha256:6ec9c2b0eb14010746c8bce8939303b382344b296206612eb8a907a37b2b2f37"}]},` +
			`{"role":"assistant","parts":[{"type":"tool_call","id":"call_1","name":"look","arguments":{"text":"[gone]"}},{"type":"tool_call","id":"call_2","name":"broken","arguments":{"text":"x"}}]},` +
			`{"role":"tool","parts":[{"type":"tool_call_response","id":"call_1","response":"seen: [gone]"}]},` +
			`{"role":"tool","parts":[{"type":"tool_call_response","id":"call_2","response":{"ok":false,"error_kind":"tool_execution_exception","message":"broken failed","detail":"private words"}}]}]`,
	} {
		if got := of(chat, key); got != want {
			t.Errorf("%s is\n%s, want\n%s", key, got, want)
		}
	}
	tool := h.named("execute_tool look")[0].Attributes
	if got := of(tool, "gen_ai.tool.call.arguments") + of(tool, "gen_ai.tool.call.result"); got != `{"text":"[gone]"}"seen: [gone]"` {
		t.Error(got)
	}
}

// TestRun follows a run that is started, put down, resumed and replayed.
func TestRun(t *testing.T) {
	h := listen(t)
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "rath.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := run.New(st, nil)
	stops := true
	ctx, cancel := context.WithCancel(t.Context())
	program := flow.Sequence{calling("a"), flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		if stops {
			cancel()
			return s, context.Cause(ctx)
		}
		return s, nil
	})}
	first, err := r.Start(ctx, "find", program, session.FromUser("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Wait(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	stops = false
	second, err := r.Resume(t.Context(), first.ID())
	if err != nil {
		t.Fatal(err)
	}
	out, err := second.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Replay(t.Context(), first.ID(), program); err != nil {
		t.Fatal(err)
	}

	runs := h.named("invoke_workflow find")
	if len(runs) != 3 || len(h.named("chat scripted")) != 2 || len(h.named("execute_tool look")) != 1 {
		t.Fatalf("what is answered from the record must have no spans of calls:\n%s", h.tree())
	}
	for i, want := range [][2]string{{"started", "queued"}, {"resumed", "succeeded"}, {"replayed", "succeeded"}} {
		s := runs[i]
		if got := [2]string{of(s.Attributes, "rath.run.mode"), of(s.Attributes, "rath.run.state")}; got != want {
			t.Errorf("execution %d is %v, want %v", i, got, want)
		}
		if of(s.Attributes, "rath.run.id") != first.ID().String() || of(s.Attributes, "error.type") != "" {
			t.Errorf("execution %d: %v", i, s.Attributes)
		}
		if got := len(s.Links); got != i {
			t.Errorf("execution %d has %d links", i, got)
		}
	}
	if of(runs[1].Attributes, "rath.session.output") != out.ID().String() {
		t.Error("the output is not told")
	}
	if chat := h.named("chat scripted")[0]; of(chat.Attributes, "rath.run.id") != first.ID().String() {
		t.Error("a call does not say whose it is")
	}
	var traced []store.Traced
	for e, err := range st.Events(t.Context(), first.ID(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == store.EventTrace {
			var at store.Traced
			if err := json.Unmarshal(e.Body, &at); err != nil {
				t.Fatal(err)
			}
			traced = append(traced, at)
		}
	}
	var want []store.Traced
	for _, s := range runs[:2] {
		want = append(want, store.Traced{Trace: s.SpanContext.TraceID().String(), Span: s.SpanContext.SpanID().String()})
	}
	if diff := gocmp.Diff(want, traced); diff != "" {
		t.Error(diff)
	}
	if got := runs[1].Links[0].SpanContext.TraceID().String(); got != traced[0].Trace {
		t.Errorf("the resumed run is linked to %s, and was traced as %s", got, traced[0].Trace)
	}
	if traced[0].Trace == traced[1].Trace {
		t.Error("a resumed run is a trace of its own")
	}
}

// TestFallback: the provider is that of the model which answered.
func TestFallback(t *testing.T) {
	h := listen(t)
	down := scripted.New(scripted.Reply{Error: &llm.Error{Kind: llm.ErrServer, Status: 503}})
	agent := &flow.Agent{Model: &llm.Fallback{Models: []llm.Model{down, scripted.New(scripted.Reply{Text: "here"})}}}
	if _, err := agent.Forward(t.Context(), session.FromUser("hello")); err != nil {
		t.Fatal(err)
	}
	chats := h.named("chat scripted:,scripted:")
	if len(chats) != 1 || of(chats[0].Attributes, "gen_ai.provider.name") != "scripted" || len(chats[0].Events) != 1 {
		t.Errorf("%s %v", h.tree(), chats)
	}
}

// TestUnsampled: a trace that nobody keeps is not in the record, and its calls are counted.
func TestUnsampled(t *testing.T) {
	h := listen(t, sdktrace.WithSampler(sdktrace.NeverSample()))
	ctx, span := telemetry.StartRun(t.Context(), telemetry.Start{ID: session.ContentID(session.Digest{1}), Name: "x"})
	if at := span.Place(); at != (telemetry.Place{}) {
		t.Error(at)
	}
	if _, err := calling("a").Forward(ctx, session.FromUser("hello")); err != nil {
		t.Fatal(err)
	}
	span.End("succeeded", session.ID{}, nil)
	if len(h.spans.GetSpans()) != 0 || len(h.metrics(t)) != 6 {
		t.Errorf("%d spans, metrics %q", len(h.spans.GetSpans()), h.metrics(t))
	}
}

func TestEmbedder(t *testing.T) {
	h := listen(t)
	e := telemetry.Embedder(vectors{})
	if _, err := e.Embed(t.Context(), []string{"private"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"gen_ai.embeddings.dimension.count=3", "gen_ai.operation.name=embeddings", "gen_ai.provider.name=openai", "gen_ai.request.model=small"}
	if diff := gocmp.Diff(want, attributes(h.named("embeddings small")[0])); diff != "" {
		t.Error(diff)
	}
}

type vectors struct{}

func (vectors) Embed(context.Context, []string) ([][]float32, error) {
	return [][]float32{{1, 2, 3}}, nil
}
func (vectors) String() string { return "openai:small" }

// TestSilence: without a provider nothing is made, not even after one was there.
func TestSilence(t *testing.T) {
	listen(t)
	deafen()
	agent, call, class := &flow.Agent{Model: scripted.New()}, session.Call{Name: "x"}, effect.ReadOnly
	req := &llm.Request{}
	allocs := testing.AllocsPerRun(100, func() {
		ctx, run := telemetry.StartRun(t.Context(), telemetry.Start{})
		ctx, working := telemetry.StartAgent(ctx, "a", "b", agent.Model)
		ctx, chat := telemetry.StartChat(ctx, agent.Model, req)
		_, tool := telemetry.StartTool(ctx, "b", class, call)
		tool.End(session.Chunk{}, "", nil)
		chat.End(llm.Reply{}, nil)
		working.End(nil)
		run.End("", session.ID{}, nil)
	})
	if allocs != 0 {
		t.Errorf("%v allocations where nobody listens", allocs)
	}
}
