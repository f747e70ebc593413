package anthropic_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/anthropic"
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
	m, err := anthropic.Open("m", &anthropic.Options{APIKey: "key", HTTPClient: &http.Client{Transport: fixed{contentType, body}}})
	if err != nil {
		t.Fatal(err)
	}
	return llm.Collect(m.Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript()}))
}

const (
	start    = `data: {"type":"message_start","message":{"id":"1"}}` + "\n\n"
	word     = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word"}}` + "\n\n"
	textAt0  = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text"}}` + "\n\n" + word
	callAt0  = `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f"}}` + "\n\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n"
	turnEnds = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}` + "\n\n"
	stop     = `data: {"type":"message_stop"}` + "\n\n"
)

// What the server says of the end, in a word or by ending well, makes a reply whole.
func TestEnds(t *testing.T) {
	for _, test := range []struct {
		name, contentType, body string
		stop                    llm.Stop
		fails                   string
	}{
		{"as it should", "text/event-stream", start + textAt0 + turnEnds + stop, llm.StopEnd, ""},
		{"without message_stop", "text/event-stream", start + textAt0 + turnEnds, llm.StopEnd, ""},
		{"without a reason", "text/event-stream", start + textAt0 + stop, llm.StopEnd, ""},
		{"without a reason, after a call", "text/event-stream", start + callAt0 + stop, llm.StopCalls, ""},
		{"without anything", "text/event-stream", start + stop, "", "cut off"},
		{"in the middle", "text/event-stream", start + textAt0, "", "cut off"},
		{"in the middle of a line", "text/event-stream", start + textAt0 + turnEnds[:20], "", "cut off"},
		{"whole without a reason", "application/json", `{"type":"message","content":[{"type":"text","text":"word"}]}`, llm.StopEnd, ""},
		{"whole in the middle", "application/json", `{"type":"message","content":[{"type":"te`, "", "cut off"},
		{"whole, an error without a type", "application/json", `{"error":{"message":"no"}}`, "", "no"},
		{"whole, of a wrong form", "application/json", `{"type":"message","content":"word"}`, "", "no message"},
	} {
		r, err := collect(t, test.contentType, test.body)
		if r.Stop != test.stop || (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: stop %q, %v", test.name, r.Stop, err)
		}
	}
}

func FuzzStream(f *testing.F) {
	for _, body := range []string{start + textAt0 + turnEnds + stop, start + callAt0 + stop, "event: error\ndata: {}\n\n", `{"type":"message","content":[]}`} {
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
