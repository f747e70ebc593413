package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

type weather struct {
	City    string   `json:"city" jsonschema:"where"`
	Degrees float64  `json:"degrees"`
	Tags    []string `json:"tags,omitempty"`
}

const sunny = `{"city":"Berlin","degrees":21.5}`

func TestOutput(t *testing.T) {
	text := func(s string) scripted.Reply {
		return scripted.Reply{Text: s, Usage: &session.Usage{Input: 7, Output: 2}}
	}
	call := scripted.Reply{Calls: []session.Call{scripted.Call("upper", `{"text":"x"}`)}, Usage: &session.Usage{Input: 7, Output: 2}}
	refuse := scripted.Reply{Error: &llm.Error{Kind: llm.ErrBadRequest, Message: "response_format?"}}
	want := weather{City: "Berlin", Degrees: 21.5}
	for name, test := range map[string]struct {
		replies []scripted.Reply
		ok      bool
		chunks  int
		asked   int
	}{
		"at once":            {[]scripted.Reply{text(sunny)}, true, 2, 1},
		"in a fence":         {[]scripted.Reply{text("```json\n" + sunny + "\n```")}, true, 2, 1},
		"after a tool":       {[]scripted.Reply{call, text(sunny)}, true, 4, 2},
		"mended":             {[]scripted.Reply{text("It is sunny."), text(sunny)}, true, 4, 2},
		"mended after tools": {[]scripted.Reply{call, text(`{"city":1}`), call, text(sunny)}, true, 8, 4},
		"never":              {[]scripted.Reply{text("It is sunny."), text(`{"city":"Berlin"}`), text(sunny)}, false, 4, 2},
		"another member":     {[]scripted.Reply{text(`{"city":"B","degrees":1,"x":2}`), text(`{"city":"B","degrees":"1"}`)}, false, 4, 2},
		"never, with a tool": {[]scripted.Reply{text("?"), call, text("?"), text(sunny)}, false, 6, 3},
		"empty":              {[]scripted.Reply{text(""), text("")}, false, 4, 2},
		"cut off":            {[]scripted.Reply{{Text: `{"city":"Ber`, Stop: llm.StopLength}, text(sunny)}, true, 4, 2},
		"no schemas":         {[]scripted.Reply{refuse, call, text(sunny)}, true, 4, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var requests []llm.Request
			o := &flow.Output[weather]{Agent: &flow.Agent{Name: "a", Prompt: "p", Model: asked(&requests, test.replies...), Tools: tool.Set{upper()}}}
			got, out, err := o.Run(t.Context(), session.FromUser("How is it?"))
			var misfit *flow.OutputError
			var at *flow.Error
			switch {
			case test.ok && (err != nil || cmp.Diff(want, got) != ""):
				t.Errorf("%+v, %v", got, err)
			case !test.ok && (!errors.As(err, &misfit) || !errors.As(err, &at) || at.Op != "output" || at.Path != "a" || cmp.Diff(weather{}, got) != ""):
				t.Errorf("%+v, %#v", got, err)
			case !test.ok && extraOf(out, "loop.error") == "":
				t.Error("the lineage does not tell")
			}
			if out.Len() != test.chunks || len(requests) != test.asked {
				t.Errorf("%d chunks, %d requests: %v", out.Len(), len(requests), kindsOf(out))
			}
			last := requests[len(requests)-1]
			if f := requests[0].Params.ResponseFormat; f.Type != "json_schema" || f.Strict || len(requests[0].Tools) != 1 {
				t.Errorf("%+v", f)
			}
			if refused := name == "no schemas"; refused != last.Params.ResponseFormat.IsZero() || refused != strings.Contains(last.Prompt.Last().Text(), `"degrees"`) {
				t.Errorf("%+v, %q", last.Params.ResponseFormat, last.Prompt.Last().Text())
			}
		})
	}
}

// What is no object is asked for as a member of one, and what servers can hold a model to
// is marked.
func TestOutputForms(t *testing.T) {
	var requests []llm.Request
	list := &flow.Output[[]string]{Agent: &flow.Agent{Model: asked(&requests, scripted.Reply{Text: `{"value":["a","b"]}`})}, Name: "names"}
	got, out, err := list.Run(t.Context(), session.FromUser("x"))
	if err != nil || cmp.Diff([]string{"a", "b"}, got) != "" {
		t.Error(got, err)
	}
	if again, err := list.Read(out); err != nil || len(again) != 2 {
		t.Error(again, err)
	}
	if f := requests[0].Params.ResponseFormat; f.Name != "names" || !strings.Contains(string(f.Schema), `"value"`) {
		t.Errorf("%s", f.Schema)
	}
	requests = nil
	strict := &flow.Output[struct {
		A string `json:"a"`
		B []int  `json:"b"`
	}]{Agent: &flow.Agent{Model: asked(&requests, scripted.Reply{Text: `{"a":"x","b":[1]}`})}}
	if _, _, err := strict.Run(t.Context(), session.FromUser("x")); err != nil || !requests[0].Params.ResponseFormat.Strict {
		t.Errorf("%v, %s", err, requests[0].Params.ResponseFormat.Schema)
	}
	if err := flow.Check(&flow.Output[func()]{Agent: &flow.Agent{Model: scripted.New()}}); err == nil {
		t.Error("a function has a schema")
	}
	if err := flow.Check(&flow.Output[int]{}); err == nil || !strings.Contains(err.Error(), "Agent: no workflow") {
		t.Error(err)
	}
	agent := &flow.Agent{Model: scripted.New()}
	if flow.Fingerprint(&flow.Output[int]{Agent: agent}) == flow.Fingerprint(&flow.Output[string]{Agent: agent}) {
		t.Error("another form has the same fingerprint")
	}
}

// A model that never fits and never ends is bounded by MaxSteps.
func TestOutputEnds(t *testing.T) {
	n := 0
	hostile := scripted.Func(func(*llm.Request) scripted.Reply {
		if n++; n == 4 {
			return scripted.Reply{Text: "not yet"}
		}
		return scripted.Reply{Calls: []session.Call{scripted.Call("upper", `{"text":"x"}`)}}
	})
	o := &flow.Output[weather]{Agent: &flow.Agent{Model: hostile, Tools: tool.Set{upper()}, MaxSteps: 3}}
	if _, err := o.Forward(t.Context(), session.FromUser("x")); !errors.Is(err, flow.ErrMaxSteps) || n != 5 {
		t.Errorf("%d requests, %v", n, err)
	}
	final := upper()
	final.Final = true
	o = &flow.Output[weather]{Agent: &flow.Agent{Model: scripted.Func(helper), Tools: tool.Set{final}}}
	if _, err := o.Forward(t.Context(), session.FromUser("x")); !errors.As(err, new(*flow.OutputError)) {
		t.Errorf("a tool's result is no answer: %v", err)
	}
}

// The schema, the tools and the stream on both protocols, streamed and not; then replayed
// with the server gone.
func TestOutputOverHTTP(t *testing.T) {
	for _, protocol := range []string{"openai", "anthropic"} {
		for _, noStream := range []bool{false, true} {
			t.Run(fmt.Sprint(protocol, noStream), func(t *testing.T) {
				s := llmtest.NewServer(t, scripted.Reply{Calls: []session.Call{scripted.Call("upper", `{"text":"x"}`)}},
					scripted.Reply{Text: "Sunny."}, scripted.Reply{Text: sunny})
				o := &flow.Output[weather]{Agent: &flow.Agent{Model: open(t, protocol, s), Tools: tool.Set{upper()}, Params: llm.Params{NoStream: noStream}}}
				rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
				deltas := 0
				ctx := flow.Observe(effect.WithJournal(t.Context(), rec), func(e flow.Event) {
					if _, ok := e.(flow.Delta); ok {
						deltas++
					}
				})
				got, first, err := o.Run(ctx, session.FromUser("x"))
				if err != nil || got.City != "Berlin" || deltas < 3 {
					t.Fatalf("%+v, %v, %d deltas", got, err, deltas)
				}
				for _, r := range s.Requests() {
					var body map[string]any
					if err := json.Unmarshal(r.Body, &body); err != nil || body["tools"] == nil || body["response_format"] == nil && body["output_config"] == nil {
						t.Errorf("%s, %v", r.Body, err)
					}
				}
				s.Close()
				rec.replay, rec.seen = true, map[string]int{}
				again, second, err := o.Run(effect.WithJournal(t.Context(), rec), session.FromUser("x"))
				if err != nil || cmp.Diff(got, again) != "" || first.ID() != second.ID() || first.Digest() != second.Digest() {
					t.Errorf("the replay differs: %+v, %v", again, err)
				}
			})
		}
	}
}

func ExampleOutput() {
	type answer struct {
		Words int  `json:"words"`
		Rude  bool `json:"rude"`
	}
	o := &flow.Output[answer]{Agent: &flow.Agent{
		Prompt: "Judge the message.",
		Model:  scripted.New(scripted.Reply{Text: "Three words."}, scripted.Reply{Text: `{"words":3,"rude":false}`}),
	}}
	v, s, err := o.Run(context.Background(), session.FromUser("Hello there, you!"))
	fmt.Println(v.Words, v.Rude, s.Len(), err)
	// Output: 3 false 4 <nil>
}
