package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/session"
)

// fixed answers every request with the same bytes.
type fixed struct{ contentType, body string }

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {f.contentType}},
		Body: io.NopCloser(strings.NewReader(f.body)), Request: r,
	}, nil
}

func collect(t testing.TB, contentType, body string) (llm.Reply, error) {
	m, err := openai.Open("m", &openai.Options{APIKey: "key", HTTPClient: &http.Client{Transport: fixed{contentType, body}}})
	if err != nil {
		t.Fatal(err)
	}
	return llm.Collect(m.Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript()}))
}

// A reply that comes whole has said its end by ending well.
func TestWhole(t *testing.T) {
	for _, test := range []struct {
		name, body string
		stop       llm.Stop
		fails      string
	}{
		{"as it should", `{"choices":[{"message":{"content":"a"},"finish_reason":"length"}]}`, llm.StopLength, ""},
		{"without a reason", `{"choices":[{"message":{"content":"a"}}]}`, llm.StopEnd, ""},
		{"without a reason, with a call", `{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"f"}}]}}]}`, llm.StopCalls, ""},
		{"empty, with a reason", `{"choices":[{"message":{},"finish_reason":"stop"}]}`, llm.StopEnd, ""},
		{"without choices", `{"choices":[]}`, "", "no completion"},
		{"cut", `{"choices":[{"message":{"con`, "", "no completion"},
		{"an error", `{"error":{"message":"no"}}`, "", "no"},
	} {
		r, err := collect(t, "application/json", test.body)
		if r.Stop != test.stop || (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: stop %q, %v", test.name, r.Stop, err)
		}
	}
}

// Some servers send with each delta the message so far, and an empty delta with a message.
func TestDeltaAndMessage(t *testing.T) {
	stream := `data: {"choices":[{"delta":{"content":"a"},"message":{"content":"a"}}]}

data: {"choices":[{"delta":{"content":"b"},"message":{"content":"ab"},"finish_reason":"stop"}]}

`
	for contentType, body := range map[string]string{
		"text/event-stream": stream,
		"application/json":  `{"choices":[{"delta":{"content":""},"message":{"content":"ab"},"finish_reason":"stop"}]}`,
	} {
		if r, err := collect(t, contentType, body); r.Chunk.Text() != "ab" || err != nil {
			t.Errorf("%s: %q, %v", contentType, r.Chunk.Text(), err)
		}
	}
}

// Calls stay apart, however little a server does to tell them apart.
func TestCallsStayApart(t *testing.T) {
	for _, test := range []struct{ name, pieces, want, whole string }{ // whole: if it differs in a message
		{"one id", `{"id":"x","function":{"name":"get","arguments":"{\"a\":1}"}},{"id":"x","function":{"name":"get","arguments":"{\"a\":2}"}}`, `x get {"a":1};call_1 get {"a":2}`, ""},
		{"one id, two names", `{"id":"x","function":{"name":"get","arguments":{"a":1}}},{"id":"x","function":{"name":"now","arguments":""}}`, `x get {"a":1};call_1 now `, ""},
		{"one index", `{"index":0,"function":{"name":"get","arguments":"{\"a\":1}"}},{"index":0,"function":{"name":"put","arguments":"{\"a\":2}"}}`, `call_0 get {"a":1};call_1 put {"a":2}`, ""},
		{"one index, one name", `{"index":0,"function":{"name":"get","arguments":{"a":1}}},{"index":0,"function":{"name":"get","arguments":{"a":2}}}`, `call_0 get {"a":1};call_1 get {"a":2}`, ""},
		{"no arguments", `{"function":{"name":"now","arguments":""}},{"function":{"name":"get","arguments":{"a":2}}}`, `call_0 now ;call_1 get {"a":2}`, ""},
		{"the name in every piece", `{"id":"x","function":{"name":"get","arguments":"{\"a\":"}},{"id":"x","function":{"name":"get","arguments":{"b":1}}},{"id":"x","function":{"name":"get","arguments":"}"}}`,
			`x get {"a":{"b":1}}`, `x get {"a":;call_1 get {"b":1};call_2 get }`},
	} {
		if test.whole == "" {
			test.whole = test.want
		}
		var pieces []string
		for _, p := range strings.SplitAfter(test.pieces, "}},") {
			pieces = append(pieces, fmt.Sprintf(`data: {"choices":[{"delta":{"tool_calls":[%s]}}]}`, strings.TrimSuffix(p, ",")))
		}
		stream := func(events ...string) string { return strings.Join(append(events, "data: [DONE]", ""), "\n\n") }
		for _, form := range []struct{ contentType, body, want string }{
			{"application/json", fmt.Sprintf(`{"choices":[{"message":{"tool_calls":[%s]}}]}`, test.pieces), test.whole},
			{"text/event-stream", stream(fmt.Sprintf(`data: {"choices":[{"delta":{"tool_calls":[%s]}}]}`, test.pieces)), test.want},
			{"text/event-stream", stream(pieces...), test.want},
		} {
			r, err := collect(t, form.contentType, form.body)
			var calls []string
			for c := range r.Chunk.Calls() {
				calls = append(calls, c.ID+" "+c.Name+" "+c.Arguments)
			}
			if got := strings.Join(calls, ";"); got != form.want || err != nil {
				t.Errorf("%s, %s: got %s, %v, want %s", test.name, form.body, got, err, form.want)
			}
		}
	}
}

func FuzzStream(f *testing.F) {
	for _, body := range []string{
		`data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":{}}}]}}]}` + "\n\n",
		"event: error\ndata: {}\n\n", `{"choices":[{"message":{"content":[{"text":"a"}]}}]}`,
	} {
		f.Add(body, false)
		f.Add(body, true)
	}
	f.Fuzz(func(t *testing.T, body string, whole bool) {
		contentType := "text/event-stream"
		if whole {
			contentType = "application/json"
		}
		if r, err := collect(t, contentType, body); err == nil && r.Stop == "" {
			t.Errorf("no reason to stop, and no error: %v", r)
		}
	})
}
