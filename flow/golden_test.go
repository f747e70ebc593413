package flow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/anthropic"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// loops are whole conversations, played over both protocols, streamed and not.
var loops = map[string][]scripted.Reply{
	"tool": {
		{Text: "Let me see.", Calls: []session.Call{scripted.Call("upper", `{"text":"grüße"}`)}, Usage: &session.Usage{Input: 30, Output: 9, CacheRead: 20}},
		{Text: "GRÜSSE.", Usage: &session.Usage{Input: 50, Output: 4}},
	},
	"parallel_and_wrong": {
		{Reasoning: "Two at once.", Calls: []session.Call{scripted.Call("upper", `{"text":"a"}`), scripted.Call("upper", `{"txt":"b"}`), scripted.Call("lower", `{}`)}},
		{Text: "One of three."},
	},
	"cut_by_length": {{Text: "and so on and", Stop: llm.StopLength}},
	"error":         {{Calls: []session.Call{scripted.Call("upper", `{"text":"a"}`)}}, {Error: &llm.Error{Status: 400, Message: "too long"}}},
}

func TestGoldenLoops(t *testing.T) {
	for name, replies := range loops {
		golden(t, name, replies, func(a *flow.Agent) (session.Session, error) {
			a.Prompt, a.Tools = "Be brief.", tool.Set{upper()}
			out, err := a.Forward(t.Context(), session.FromUser("Shout."))
			if failed := (*llm.Error)(nil); (name == "error") == errors.As(err, &failed) {
				err = nil
			}
			return out, err
		})
	}
}

// golden plays a loop over both protocols, streamed and not.
func golden(t *testing.T, name string, replies []scripted.Reply, forward func(*flow.Agent) (session.Session, error)) {
	for _, protocol := range []string{"openai", "anthropic"} {
		for _, noStream := range []bool{false, true} {
			file := "testdata/" + name + "_" + protocol
			if noStream {
				file += "_whole"
			}
			t.Run(file, func(t *testing.T) {
				s := llmtest.NewServer(t, replies...)
				out, err := forward(&flow.Agent{Model: open(t, protocol, s), Params: llm.Params{NoStream: noStream}})
				if err != nil {
					t.Fatal(err)
				}
				llmtest.Golden(t, file+".txtar", s.Requests(), out)
			})
		}
	}
}

// measured is an answer by schema.
type measured struct {
	City    string  `json:"city"`
	Celsius float64 `json:"celsius"`
	Source  string  `json:"source"`
}

// Structured output, tools and streaming work together: the schema and the tools go with
// every request, the calls come first, and an answer that does not keep to the schema is
// asked for once more.
func TestGoldenStructuredOutput(t *testing.T) {
	measure := tool.New("measure", "Tell the weather of a city.", func(_ context.Context, in struct {
		City string `json:"city"`
	}) (string, error) {
		return "21.5 degrees in " + in.City, nil
	})
	source := tool.New("source", "Tell where the weather is from.", func(context.Context, struct{}) (string, error) { return "a <station> & more", nil })
	replies := []scripted.Reply{
		{
			Text:  "I look it up.",
			Calls: []session.Call{scripted.Call("measure", `{"city":"Köln"}`), scripted.Call("source", `{}`)},
			Usage: &session.Usage{Input: 120, Output: 30, CacheRead: 100},
		},
		{Text: `{"city":"Köln","celsius":"warm","source":"a <station> & more"}`, Usage: &session.Usage{Input: 180, Output: 20}},
		{Text: `{"city":"Köln","celsius":21.5,"source":"a <station> & more"}`, Usage: &session.Usage{Input: 230, Output: 20}},
	}
	golden(t, "structured", replies, func(a *flow.Agent) (session.Session, error) {
		a.Prompt, a.Tools = "Answer in JSON.", tool.Set{measure, source}
		pieces := 0
		ctx := flow.Observe(t.Context(), func(e flow.Event) {
			if d, ok := e.(flow.Delta); ok && d.Text != "" {
				pieces++
			}
		})
		answer, out, err := (&flow.Output[measured]{Agent: a, Name: "weather"}).Run(ctx, session.FromUser("How warm is it in Köln?"))
		if err == nil && answer != (measured{"Köln", 21.5, "a <station> & more"}) {
			t.Errorf("%+v", answer)
		}
		if streamed := pieces > len(replies); streamed == a.Params.NoStream {
			t.Errorf("the answers came in %d pieces", pieces)
		}
		return out, err
	})
}

// pixel is a PNG of one transparent pixel.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x11IDATx\x9cbb```\x00\x04\x00\x00\xff\xff\x00\x0f\x00\x03\xfe\x8f\xeb\xcf\x00\x00\x00\x00IEND\xaeB`\x82"

// Images reach the server, by their bytes and by their address, in every request of the
// loop, in the order in which they were said; those of tools too.
func TestGoldenVision(t *testing.T) {
	zoom := tool.New("zoom", "Look closer.", func(context.Context, struct{}) (tool.Result, error) {
		return tool.Result{Parts: []session.Part{session.Text("closer:"), session.Image("image/png", []byte(pixel))}}, nil
	})
	in := session.New(session.User(
		session.Text("Compare"), session.Image("image/png", []byte(pixel)), session.Text("with"),
		session.ImageURL("https://example.com/cat.jpg?w=1&h=2"), session.Text("please."),
	))
	replies := []scripted.Reply{
		{Calls: []session.Call{scripted.Call("zoom", `{}`), scripted.Call("zoom", `{}`)}, Usage: &session.Usage{Input: 900, Output: 12}},
		{Text: "The first is empty, the second a cat.", Usage: &session.Usage{Input: 950, Output: 11}},
	}
	golden(t, "vision", replies, func(a *flow.Agent) (session.Session, error) {
		a.Tools = tool.Set{zoom}
		return a.Forward(t.Context(), in)
	})
}

func open(t *testing.T, protocol string, s *llmtest.Server) (m llm.Model) {
	t.Helper()
	client := llm.NewHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	var err error
	if protocol == "openai" {
		m, err = openai.Open("m", &openai.Options{BaseURL: s.URL, HTTPClient: client})
	} else {
		m, err = anthropic.Open("m", &anthropic.Options{BaseURL: s.URL, HTTPClient: client})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}
