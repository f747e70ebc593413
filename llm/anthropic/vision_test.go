package anthropic_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// pieces counts what came of a reply.
type pieces struct{ text, call int }

// converse asks until the model calls no tool, and answers each call with the parts that
// its tool has.
func converse(t *testing.T, m llm.Model, in session.Session, req llm.Request, tools map[string][]session.Part) (out session.Session, last pieces) {
	t.Helper()
	req.Messages = in.Transcript()
	var usage session.Usage
	for {
		var came pieces
		r, err := llm.Collect(func(yield func(llm.Delta, error) bool) {
			for d, err := range m.Stream(t.Context(), &req) {
				if d.Text != "" {
					came.text++
				}
				if d.Call != nil {
					came.call++
				}
				if !yield(d, err) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		last.text, last.call = came.text, max(last.call, came.call)
		usage, req.Messages = usage.Add(r.Usage), req.Messages.Append(r.Chunk)
		if r.Chunk.NumCalls() == 0 {
			return in.Derive(req.Messages, session.Step{Usage: usage}), last
		}
		for c := range r.Chunk.Calls() {
			req.Messages = req.Messages.Append(session.ToolResult(session.Answer{CallID: c.ID, Tool: c.Name}, tools[c.Name]...))
		}
	}
}

const weatherSchema = `{"type":"object","properties":{"city":{"type":"string"},"celsius":{"type":"number"},"source":{"type":"string"}},"required":["city","celsius","source"],"additionalProperties":false}`

// Structured output, tools and streaming work together: the schema and the tools go with
// every request, the calls come first, and the reply keeps to the schema.
func TestStructuredWithTools(t *testing.T) {
	for file, noStream := range map[string]bool{"structured": false, "structured_whole": true} {
		s := llmtest.NewServer(t,
			scripted.Reply{
				Text:  "I look it up.",
				Calls: []session.Call{scripted.Call("weather", `{"city":"Köln"}`), scripted.Call("source", `{}`)},
				Usage: &session.Usage{Input: 120, Output: 30, CacheRead: 100},
			},
			scripted.Reply{Text: `{"city":"Köln","celsius":21.5,"source":"a <station> & more"}`, Usage: &session.Usage{Input: 180, Output: 20}})
		req := llm.Request{
			Prompt: session.FromSystem("Answer in JSON.").Transcript(),
			Tools: []llm.Tool{
				{Name: "weather", Description: "Tell the weather of a city.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
				{Name: "source", Description: "Tell where the weather is from.", Schema: json.RawMessage(`{"type":"object"}`)},
			},
			Params: llm.Params{NoStream: noStream, ResponseFormat: llm.ResponseFormat{Type: "json_schema", Name: "weather", Schema: json.RawMessage(weatherSchema), Strict: true}},
		}
		out, came := converse(t, openAt(t, s.URL), session.FromUser("How warm is it in Köln?"), req, map[string][]session.Part{
			"weather": {session.Text("21.5 degrees")}, "source": {session.Text("a <station> & more")},
		})
		keepsTo(t, weatherSchema, out)
		if streamed := came.text > 1 && came.call > 2; streamed == noStream {
			t.Errorf("%s: the answer came in %d pieces, the calls in %d", file, came.text, came.call)
		}
		llmtest.Golden(t, "testdata/"+file+".txtar", s.Requests(), out)
	}
}

// keepsTo wants the session's last text to be JSON of the schema.
func keepsTo(t *testing.T, schema string, out session.Session) {
	t.Helper()
	var want jsonschema.Schema
	if err := json.Unmarshal([]byte(schema), &want); err != nil {
		t.Fatal(err)
	}
	checked, err := want.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for _, c := range out.All() {
		text = c.Text()
	}
	var answer any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if err := checked.Validate(answer); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

// pixel is a PNG of one transparent pixel.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x11IDATx\x9cbb```\x00\x04\x00\x00\xff\xff\x00\x0f\x00\x03\xfe\x8f\xeb\xcf\x00\x00\x00\x00IEND\xaeB`\x82"

// Images reach the server, by their bytes and by their address, in every request of the
// loop, in the order in which they were said.
func TestVision(t *testing.T) {
	for file, noStream := range map[string]bool{"vision": false, "vision_whole": true} {
		s := llmtest.NewServer(t,
			scripted.Reply{Calls: []session.Call{scripted.Call("zoom", `{"x":0,"y":0}`)}, Usage: &session.Usage{Input: 900, Output: 12}},
			scripted.Reply{Text: "The first is empty, the second a cat.", Usage: &session.Usage{Input: 950, Output: 11}})
		in := session.New(session.User(
			session.Text("Compare"), session.Image("image/png", []byte(pixel)), session.Text("with"),
			session.ImageURL("https://example.com/cat.jpg?w=1&h=2"), session.Text("please."),
		))
		req := llm.Request{
			Tools:  []llm.Tool{{Name: "zoom", Description: "Look closer.", Schema: json.RawMessage(`{"type":"object"}`)}},
			Params: llm.Params{NoStream: noStream},
		}
		out, came := converse(t, openAt(t, s.URL), in, req, map[string][]session.Part{"zoom": {session.Text("closer:"), session.Image("image/png", []byte(pixel))}})
		if streamed := came.text > 1; streamed == noStream {
			t.Errorf("%s: the answer came in %d pieces", file, came.text)
		}
		llmtest.Golden(t, "testdata/"+file+".txtar", s.Requests(), out)
	}
}
