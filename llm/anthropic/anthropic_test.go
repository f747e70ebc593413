package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/anthropic"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openAt(t *testing.T, url string) llm.Model { return openWith(t, url, "key") }

func openWith(t *testing.T, url, key string) llm.Model {
	t.Helper()
	client := llm.NewHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	m, err := anthropic.Open("m", &anthropic.Options{APIKey: key, BaseURL: url, HTTPClient: client, Beta: []string{"b1", "b2"}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) {
	for name, quirks := range map[string]llmtest.Quirks{"plain": {}, "gateway": {KeepAlive: true, CRLF: true}, "never streams": {AlwaysWhole: true}} {
		t.Run(name, func(t *testing.T) {
			llmtest.TestModel(t, func(t *testing.T, replies ...scripted.Reply) llm.Model {
				s := llmtest.NewServer(t, replies...)
				s.SetQuirks(quirks)
				return openAt(t, s.URL)
			}, nil)
		})
	}
}

func TestHTTP(t *testing.T) { llmtest.TestHTTP(t, openWith) }

// Wherever the connection breaks, the reply is an error, or it is whole.
func TestCutAtEveryByte(t *testing.T) {
	reply := scripted.Reply{Text: "answer", Calls: []session.Call{{ID: "c", Name: "f", Arguments: `{"a":1}`}}, Usage: &session.Usage{Input: 1, Output: 2}}
	for _, noStream := range []bool{false, true} {
		failed := 0
		for cut := 1; ; cut++ {
			s := llmtest.NewServer(t, reply)
			s.SetQuirks(llmtest.Quirks{CutAfter: cut})
			got, err := llm.Collect(openAt(t, s.URL).Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript(), Params: llm.Params{NoStream: noStream}}))
			s.Close()
			var e *llm.Error
			if err == nil {
				if got.Chunk.Text() != "answer" || got.Chunk.NumCalls() != 1 || got.Stop != llm.StopCalls || got.Usage.Output != 2 {
					t.Fatalf("cut at %d: half a reply passed for whole: %v", cut, got)
				}
				break
			}
			if failed++; !errors.As(err, &e) || !e.Retryable() {
				t.Fatalf("cut at %d: %v", cut, err)
			}
		}
		if failed < 100 {
			t.Errorf("only %d cuts failed", failed)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestRequestBody(t *testing.T) {
	s := llmtest.NewServer(t, scripted.Reply{Text: "ok"})
	m := openAt(t, s.URL+"/v1/")
	req := &llm.Request{
		Prompt: session.FromSystem("sys").Transcript(),
		Messages: session.New(
			session.User(session.Text("look"), session.Text(""), session.Image("image/png", []byte{1}), session.ImageURL("https://x/i.png")),
			session.User(session.File("a.pdf", "application/pdf", []byte{2}), session.File("b.txt", "text/csv", []byte("b"))),
			session.System(session.Text("more")),
			session.Assistant([]session.Part{
				session.Reasoning("why", `{"type":"thinking","signature":"s1"}`),
				session.Reasoning("", `{"type":"redacted_thinking","data":"d1"}`),
				session.Reasoning("of another provider", ""),
				session.Text("calling"),
			}, session.Call{ID: "c", Name: "f", Arguments: `{"big":12345678901234567890}`}, session.Call{ID: "d", Name: "f", Arguments: "not json"}, session.Call{ID: "e", Name: "f"}),
			session.ToolResult(session.Answer{CallID: "c", Tool: "f"}, session.Text("res")),
			session.ToolResult(session.Answer{CallID: "d", Tool: "f", Outcome: session.Failed}, session.Text("bad")),
			session.ToolResult(session.Answer{CallID: "e", Tool: "f"}),
			session.User(session.Text("go on")),
		).Transcript(),
		Tools: []llm.Tool{{Name: "f", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}},
		Params: llm.Params{
			Temperature: ptr(0.0), TopP: ptr(0.5), MaxTokens: 7, ThinkingTokens: 1024, Stop: []string{"x"}, User: "u", ServiceTier: "auto",
			ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired}, ParallelToolCalls: ptr(false), PromptCache: "1h", ReasoningEffort: "low",
			ResponseFormat: llm.ResponseFormat{Type: "json_schema", Schema: json.RawMessage(`{}`)},
			Extra:          map[string]json.RawMessage{"top_k": json.RawMessage("5")},
		},
	}
	if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	got := s.Requests()[0]
	if h := got.Header; h.Get("X-Api-Key") != "key" || h.Get("Anthropic-Beta") != "b1,b2" || h.Get("Anthropic-Version") == "" || got.Path != "/v1/messages" {
		t.Errorf("path %s, headers %v", got.Path, h)
	}
	cache := `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	want := `{"model":"m","stream":true,"max_tokens":5120,
"system":[{"type":"text","text":"sys"},{"type":"text","text":"more",` + cache + `}],
"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQ=="}},{"type":"image","source":{"type":"url","url":"https://x/i.png"}},
{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"Ag=="}},{"type":"document","title":"b.txt","source":{"type":"text","media_type":"text/plain","data":"b"},` + cache + `}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"why","signature":"s1"},{"type":"redacted_thinking","data":"d1"},{"type":"text","text":"calling"},
{"type":"tool_use","id":"c","name":"f","input":{"big":12345678901234567890}},{"type":"tool_use","id":"d","name":"f","input":{"_raw":"not json"}},{"type":"tool_use","id":"e","name":"f","input":{}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"res"}]},{"type":"tool_result","tool_use_id":"d","is_error":true,"content":[{"type":"text","text":"bad"}]},
{"type":"tool_result","tool_use_id":"e"},{"type":"text","text":"go on",` + cache + `}]}],
"tools":[{"name":"f","description":"d","input_schema":{"type":"object"},` + cache + `}],
"tool_choice":{"type":"any","disable_parallel_tool_use":true},"temperature":0,"top_p":0.5,"stop_sequences":["x"],"metadata":{"user_id":"u"},"service_tier":"auto",
"thinking":{"type":"enabled","budget_tokens":1024},"output_config":{"effort":"low","format":{"type":"json_schema","schema":{}}},"top_k":5}`
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got.Body, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

// What the model thought goes back to the byte, however it came.
func TestThinkingGoesBack(t *testing.T) {
	for _, noStream := range []bool{false, true} {
		s := llmtest.NewServer(t, scripted.Reply{Reasoning: "let me see", Extra: `{"signature":"EqQBCk/+=="}`, Calls: []session.Call{{ID: "c", Name: "f", Arguments: "{}"}}}, scripted.Reply{Text: "ok"})
		m := openAt(t, s.URL)
		req := &llm.Request{Messages: session.FromUser("x").Transcript(), Params: llm.Params{NoStream: noStream}}
		r, err := llm.Collect(m.Stream(t.Context(), req))
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = req.Messages.Append(r.Chunk, session.ToolResult(session.Answer{CallID: "c", Tool: "f"}, session.Text("y")))
		if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		if body := string(s.Requests()[1].Body); !strings.Contains(body, `{"type":"thinking","thinking":"let me see","signature":"EqQBCk/+=="}`) {
			t.Errorf("sent back: %s", body)
		}
	}
}

func TestErrorInStream(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")
	}))
	defer s.Close()
	_, err := llm.Collect(openAt(t, s.URL).Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript()}))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrServer || e.Code != "overloaded_error" || !e.Retryable() {
		t.Errorf("%#v", err)
	}
}

func TestHostileEnvironment(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_PROFILE"} {
		t.Setenv(name, "X-Evil: hostile")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/evil")
	s := llmtest.NewServer(t, scripted.Reply{Text: "ok"})
	if _, err := llm.Collect(openAt(t, s.URL).Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript()})); err != nil {
		t.Fatal(err)
	}
	for name, values := range s.Requests()[0].Header {
		if strings.Contains(strings.Join(values, ""), "hostile") {
			t.Errorf("header %s: %v", name, values)
		}
	}
	var e *llm.Error
	if _, err := anthropic.Open("m", nil); !errors.As(err, &e) || e.Kind != llm.ErrAuth {
		t.Errorf("opening Anthropic without a key: %v", err)
	}
}
