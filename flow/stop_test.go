package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// again calls upper for ever, whatever it is told.
func again(*llm.Request) scripted.Reply {
	return scripted.Reply{Calls: []session.Call{scripted.Call("upper", `{"text":"x"}`)}, Usage: &session.Usage{Input: 5, Output: 5}}
}

func TestStop(t *testing.T) {
	final := upper()
	final.Final = true
	failing := tool.New("upper", "", func(context.Context, textInput) (string, error) { return "", fmt.Errorf("no") })
	failing.Final = true
	rounds := 0
	for name, test := range map[string]struct {
		agent  *flow.Agent
		chunks int
		extra  string
		isErr  bool
	}{
		"never":    {&flow.Agent{Tools: tool.Set{upper()}, Stop: func(session.Session) bool { return false }}, 9, "", true},
		"length":   {&flow.Agent{Tools: tool.Set{upper()}, Stop: func(s session.Session) bool { return s.Len() >= 5 }}, 5, "loop.stopped", false},
		"usage":    {&flow.Agent{Tools: tool.Set{upper()}, Stop: func(s session.Session) bool { return s.Usage().Total() > 25 }}, 7, "loop.stopped", false},
		"tool":     {&flow.Agent{Tools: tool.Set{upper()}, Stop: flow.StopAfter("lower", "upper")}, 3, "loop.stopped", false},
		"other":    {&flow.Agent{Tools: tool.Set{upper()}, Stop: flow.StopAfter("lower")}, 9, "", true},
		"failed":   {&flow.Agent{Tools: tool.Set{failing}, Stop: flow.StopAfter("upper")}, 9, "", true},
		"final":    {&flow.Agent{Tools: tool.Set{final}, Stop: func(session.Session) bool { rounds++; return true }}, 3, "loop.final", false},
		"no final": {&flow.Agent{Tools: tool.Set{failing}}, 9, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			test.agent.Model, test.agent.MaxSteps = scripted.Func(again), 3
			rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
			out, err := test.agent.Forward(effect.WithJournal(t.Context(), rec), session.FromUser("x"))
			if (err != nil) != test.isErr || out.Len() != test.chunks || len(out.Transcript().OpenCalls()) > 0 {
				t.Errorf("%d chunks, %v", out.Len(), err)
			}
			if test.extra != "" && extraOf(out, test.extra) == "" {
				t.Errorf("%+v", out.Lineage().Extras)
			}
			rec.replay, rec.seen = true, map[string]int{}
			if back, _ := test.agent.Forward(effect.WithJournal(t.Context(), rec), session.FromUser("x")); back.ID() != out.ID() || back.Digest() != out.Digest() {
				t.Error("the replay differs")
			}
		})
	}
	if rounds != 0 {
		t.Error("Stop was asked after a final tool")
	}
	plain := &flow.Agent{Model: scripted.New()}
	stopping := &flow.Agent{Model: scripted.New(), Stop: flow.StopAfter("x")}
	if flow.Fingerprint(plain) == flow.Fingerprint(stopping) {
		t.Error("the fingerprint does not see Stop")
	}
}

// A model that must call a tool is free to answer after it did.
func TestToolChoice(t *testing.T) {
	for _, choice := range []llm.ToolChoice{{Mode: llm.ToolRequired}, {Mode: llm.ToolNamed, Name: "upper"}, {Mode: llm.ToolNone}, {}} {
		var modes []string
		obedient := scripted.Func(func(req *llm.Request) scripted.Reply {
			mode := req.Params.ToolChoice.Mode
			modes = append(modes, mode)
			if mode == llm.ToolRequired || mode == llm.ToolNamed || mode == "" && len(modes) == 1 {
				return again(req)
			}
			return scripted.Reply{Text: "done"}
		})
		a := &flow.Agent{Model: obedient, Tools: tool.Set{upper()}, Params: llm.Params{ToolChoice: choice}}
		out, err := a.Forward(t.Context(), session.FromUser("x"))
		if err != nil || out.Text() != "done" {
			t.Errorf("%+v: %v, %v", choice, modes, err)
		}
		want := []string{choice.Mode, llm.ToolAuto}
		switch choice.Mode {
		case llm.ToolNone:
			want = want[:1]
		case "":
			want[1] = ""
		}
		if diff := cmp.Diff(want, modes); diff != "" || a.Params.ToolChoice != choice {
			t.Error(diff)
		}
	}
}

// timed is a hook around a model: it embeds the model and has its own Stream.
type timed struct {
	llm.Model
	log *[]string
}

func (m timed) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		*m.log = append(*m.log, fmt.Sprintf("ask with %d messages", req.Messages.Len()))
		for d, err := range m.Model.Stream(ctx, req) {
			if !yield(d, err) {
				return
			}
		}
		*m.log = append(*m.log, "answered")
	}
}

// Hooks before and after model and tool calls are plain functions around them.
func Example_hooks() {
	var log []string
	aroundModel := func(m llm.Model) llm.Model { return timed{m, &log} }
	aroundTool := func(t *tool.Tool) *tool.Tool {
		return t.With(func(run tool.Run) tool.Run {
			return func(ctx context.Context, args json.RawMessage) (tool.Result, error) {
				log = append(log, fmt.Sprintf("%s %s", t.Name, args))
				result, err := run(ctx, args)
				for i := range result.Parts { // a hook may change what the model gets
					result.Parts[i].Text = strings.ReplaceAll(result.Parts[i].Text, "SECRET", "***")
				}
				return result, err
			}
		})
	}
	agent := &flow.Agent{
		Model: aroundModel(scripted.New(
			scripted.Reply{Calls: []session.Call{scripted.Call("upper", `{"text":"my secret"}`)}}, scripted.Reply{Text: "Done."})),
		Tools: tool.Set{upper()}.With(aroundTool),
	}
	out, err := agent.Forward(context.Background(), session.FromUser("Shout: my secret"))
	fmt.Println(strings.Join(log, "\n"))
	fmt.Println(out.At(2).Text(), err)
	// Output:
	// ask with 1 messages
	// answered
	// upper {"text":"my secret"}
	// ask with 3 messages
	// answered
	// MY *** <nil>
}
