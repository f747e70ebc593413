package openai_test

import (
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
