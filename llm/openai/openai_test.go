package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openAt(t *testing.T, url string, opts openai.Options) llm.Model {
	t.Helper()
	client := llm.NewHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	opts.BaseURL, opts.HTTPClient = url, client
	m, err := openai.Open("m", &opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) {
	for name, quirks := range map[string]llmtest.Quirks{
		"plain": {}, "azure": {EmptyChoices: true}, "gateway": {KeepAlive: true, OddPieces: true, CRLF: true},
		"no index": {NoIndex: true}, "one index": {OneIndex: true, SaysStop: true}, "ollama": {ObjectArgs: true, NoIndex: true},
		"no done": {NoDone: true}, "never streams": {AlwaysWhole: true},
	} {
		t.Run(name, func(t *testing.T) {
			llmtest.TestModel(t, func(t *testing.T, replies ...scripted.Reply) llm.Model {
				s := llmtest.NewServer(t, replies...)
				s.SetQuirks(quirks)
				return openAt(t, s.URL+"/v1", openai.Options{APIKey: "key"})
			}, nil)
		})
	}
}

func TestHTTP(t *testing.T) {
	llmtest.TestHTTP(t, func(t *testing.T, baseURL, key string) llm.Model {
		return openAt(t, baseURL, openai.Options{APIKey: key})
	})
}

// Wherever the connection breaks, the reply is an error, or it is whole.
func TestCutAtEveryByte(t *testing.T) {
	reply := scripted.Reply{Text: "answer", Calls: []session.Call{{ID: "c", Name: "f", Arguments: `{"a":1}`}}, Usage: &session.Usage{Input: 1, Output: 2}}
	for _, noStream := range []bool{false, true} {
		failed := 0
		for cut := 1; ; cut++ {
			s := llmtest.NewServer(t, reply)
			s.SetQuirks(llmtest.Quirks{CutAfter: cut})
			m := openAt(t, s.URL+"/v1", openai.Options{})
			got, err := llm.Collect(m.Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript(), Params: llm.Params{NoStream: noStream}}))
			s.Close()
			var e *llm.Error
			if err != nil && (!errors.As(err, &e) || !e.Retryable()) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if err != nil {
				failed++
				continue
			}
			if got.Chunk.Text() != "answer" || got.Chunk.NumCalls() != 1 || got.Stop != llm.StopCalls {
				t.Fatalf("cut at %d: half a reply passed for whole: %v", cut, got)
			}
			if got.Usage.Unreported == 0 { // even the usage has come
				break
			}
		}
		if failed < 100 {
			t.Errorf("only %d cuts failed", failed)
		}
	}
}

// respond serves fixed bytes.
func respond(t *testing.T, contentType, body string) llm.Model {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return openAt(t, s.URL, openai.Options{})
}

func TestOddStreams(t *testing.T) {
	ask := &llm.Request{Messages: session.FromUser("x").Transcript()}
	event := func(s string) string { return "data: " + s + "\n\n" }
	for _, test := range []struct{ name, body, text, calls, fails string }{
		{"content as parts", event(`{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},"finish_reason":"stop"}]}`), "ab", "", ""},
		{"no finish but done", event(`{"choices":[{"delta":{"content":"a"}}]}`) + event("[DONE]"), "a", "", ""},
		{"done without anything", event("[DONE]"), "", "", "cut off"},
		{"nothing", "", "", "", "cut off"},
		{"reasoning by its other name", event(`{"choices":[{"delta":{"reasoning":"r","content":"a"},"finish_reason":"stop"}]}`), "a", "", ""},
		{"id late", event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}}]}}]}`) +
			event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"late","function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}`), "", `late f {}`, ""},
		{"two whole calls without index or id", event(`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":{}}},{"function":{"name":"g","arguments":{}}}]},"finish_reason":"stop"}]}`), "", "call_0 f {};call_1 g {}", ""},
		{"old function call", event(`{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{}"}},"finish_reason":"function_call"}]}`), "", "call_0 f {}", ""},
		{"error in the stream", event(`{"choices":[{"delta":{"content":"a"}}]}`) + event(`{"error":{"message":"overloaded","code":429}}`), "a", "", "rate limit (HTTP 429): overloaded"},
		{"no JSON", event(`<html>`), "", "", "no completion"},
		{"second choice is dropped", event(`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"}]}`), "yes", "", ""},
		{"usage everywhere", event(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}`) + event(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":2}}`), "a", "", ""},
	} {
		r, err := llm.Collect(respond(t, "text/event-stream", test.body).Stream(t.Context(), ask))
		var calls []string
		for c := range r.Chunk.Calls() {
			calls = append(calls, c.ID+" "+c.Name+" "+c.Arguments)
		}
		if r.Chunk.Text() != test.text || err == nil && strings.Join(calls, ";") != test.calls {
			t.Errorf("%s: text %q, calls %q", test.name, r.Chunk.Text(), calls)
		}
		if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
}

func TestHTMLError(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		io.WriteString(w, "<html><head><style>x{}</style></head><h1>502 Bad Gateway</h1></html>")
	}))
	defer s.Close()
	_, err := llm.Collect(openAt(t, s.URL, openai.Options{}).Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript()}))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrServer || e.Message != "502 Bad Gateway" {
		t.Errorf("%#v", err)
	}
}

func TestConnectionRefused(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	_, err := llm.Collect(openAt(t, s.URL, openai.Options{}).Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript()}))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrConnection || e.Hint() == "" {
		t.Errorf("%#v", err)
	}
}

// Arguments in any pieces come out to the byte.
func TestRandomPieces(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	want := `{"text":"grüße \"世界\" \\n 🌍","n":[1,2,3]}`
	for range 200 {
		var body strings.Builder
		body.WriteString(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f"}}]}}]}` + "\n\n")
		for rest := []rune(want); len(rest) > 0; {
			n := 1 + rnd.IntN(len(rest))
			piece, _ := json.Marshal(string(rest[:n]))
			body.WriteString(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":` + string(piece) + `}}]}}]}` + "\n\n")
			rest = rest[n:]
		}
		body.WriteString(`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n")
		r, err := llm.Collect(respond(t, "text/event-stream", body.String()).Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript()}))
		for c := range r.Chunk.Calls() {
			if c.Arguments != want || err != nil {
				t.Fatalf("%q, %v", c.Arguments, err)
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestRequestBody(t *testing.T) {
	s := llmtest.NewServer(t, scripted.Reply{Text: "ok"})
	m := openAt(t, s.URL+"/v1", openai.Options{APIKey: "sk-1", EchoReasoning: true, Header: http.Header{"X-Extra": {"1"}}})
	req := &llm.Request{
		Prompt: session.FromSystem("sys").Transcript(),
		Messages: session.New(
			session.User(session.Text("look"), session.Image("image/png", []byte{1}), session.File("a.pdf", "application/pdf", []byte{2})),
			session.Assistant([]session.Part{session.Reasoning("why", ""), session.Text("a<b")}, session.Call{ID: "c", Name: "f", Arguments: "{}", Extra: `{"google":{"sig":"s"}}`}),
			session.ToolResult(session.Answer{CallID: "c", Tool: "f"}, session.Text("res")),
			session.Assistant(nil, session.Call{ID: "d", Name: "f", Arguments: "not json"}),
			session.ToolResult(session.Answer{CallID: "d", Tool: "f", Outcome: session.Denied}, session.Text("no")),
		).Transcript(),
		Tools: []llm.Tool{{Name: "f", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}},
		Params: llm.Params{
			Temperature: ptr(0.0), TopP: ptr(0.5), MaxTokens: 7, MaxCompletionTokens: 8, Stop: []string{"x"}, N: 2, Seed: ptr(int64(3)),
			FrequencyPenalty: ptr(0.1), PresencePenalty: ptr(0.2), ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "f"},
			ParallelToolCalls: ptr(false), ResponseFormat: llm.ResponseFormat{Type: "json_schema", Name: "n", Schema: json.RawMessage(`{}`), Strict: true},
			LogitBias: map[string]float64{"1": -1}, Logprobs: ptr(true), TopLogprobs: ptr(2), ReasoningEffort: "low", Verbosity: "high",
			Metadata: map[string]string{"k": "v"}, User: "u", Store: ptr(true), ServiceTier: "flex",
			Extra: map[string]json.RawMessage{"top_k": json.RawMessage("5"), "seed": json.RawMessage("9")},
		},
	}
	if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	got := s.Requests()[0]
	if h := got.Header; h.Get("Authorization") != "Bearer sk-1" || h.Get("X-Extra") != "1" {
		t.Errorf("headers %v", h)
	}
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},
"messages":[{"role":"system","content":"sys"},
{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AQ=="}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,Ag=="}}]},
{"role":"assistant","content":"a<b","reasoning_content":"why","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"sig":"s"}}}]},
{"role":"tool","content":"res","tool_call_id":"c"},
{"role":"assistant","content":null,"tool_calls":[{"id":"d","type":"function","function":{"name":"f","arguments":"not json"}}]},
{"role":"tool","content":"no","tool_call_id":"d"}],
"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}],
"tool_choice":{"type":"function","function":{"name":"f"}},"parallel_tool_calls":false,
"temperature":0,"top_p":0.5,"max_tokens":7,"max_completion_tokens":8,"stop":["x"],"n":2,"seed":9,"frequency_penalty":0.1,"presence_penalty":0.2,
"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{},"strict":true}},"logit_bias":{"1":-1},"logprobs":true,"top_logprobs":2,
"reasoning_effort":"low","verbosity":"high","metadata":{"k":"v"},"user":"u","store":true,"service_tier":"flex","top_k":5}`
	var a, b any
	if json.Unmarshal([]byte(want), &a) != nil || json.Unmarshal(got.Body, &b) != nil {
		t.Fatal("no JSON")
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

// Nothing of the environment may reach the server or change where requests go.
func TestHostileEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_CUSTOM_HEADERS"} {
		t.Setenv(name, "X-Evil: hostile")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/evil")
	s := llmtest.NewServer(t, scripted.Reply{Text: "ok"})
	m := openAt(t, s.URL, openai.Options{})
	if _, err := llm.Collect(m.Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript()})); err != nil {
		t.Fatal(err)
	}
	for name, values := range s.Requests()[0].Header {
		if strings.Contains(strings.Join(values, ""), "hostile") || name == "Authorization" {
			t.Errorf("header %s: %v", name, values)
		}
	}
	var e *llm.Error
	if _, err := openai.Open("m", nil); !errors.As(err, &e) || e.Kind != llm.ErrAuth {
		t.Errorf("opening OpenAI without a key: %v", err)
	}
	if _, err := openai.Open("m", &openai.Options{BaseURL: "nonsense"}); err == nil {
		t.Error("a base URL that is none was taken")
	}
}

// redirect sends every request to one server, whatever host it is for.
type redirect struct{ to string }

func (r redirect) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("X-Host", req.URL.Host)
	req.URL.Scheme, req.URL.Host = "http", strings.TrimPrefix(r.to, "http://")
	return http.DefaultTransport.RoundTrip(req)
}

func TestAzure(t *testing.T) {
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for _, test := range []struct{ base, version, path string }{
		{"https://r.openai.azure.com", "2024-10-21", "/openai/deployments/m/chat/completions?api-version=2024-10-21"},
		{"https://r.openai.azure.com/openai", "2024-10-21", "/openai/deployments/m/chat/completions?api-version=2024-10-21"},
		{"https://r.openai.azure.com/openai/v1/", "", "/openai/v1/chat/completions"},
	} {
		s := llmtest.NewServer(t, scripted.Reply{Text: "ok"})
		m, err := openai.Open("m", &openai.Options{APIKey: "az", BaseURL: test.base, APIVersion: test.version, HTTPClient: &http.Client{Transport: redirect{s.URL}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := llm.Collect(m.Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript()})); err != nil {
			t.Fatal(err)
		}
		got := s.Requests()[0]
		if got.Path != test.path || got.Header.Get("Api-Key") != "az" || got.Header.Get("Authorization") != "" || got.Header.Get("X-Host") != "r.openai.azure.com" {
			t.Errorf("%s: path %s, headers %v", test.base, got.Path, got.Header)
		}
	}
}
