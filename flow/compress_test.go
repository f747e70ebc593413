package flow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// talker calls a tool with long arguments, so many times, and then answers.
func talker(rounds int) *scripted.Model {
	n := 0
	return scripted.Func(func(*llm.Request) scripted.Reply {
		if n++; n > rounds {
			return scripted.Reply{Text: "done", Usage: &session.Usage{Calls: 1, Input: 10, Output: 1}}
		}
		call := scripted.Call("upper", fmt.Sprintf(`{"text":%q}`, strings.Repeat("word ", 100)))
		return scripted.Reply{Calls: []session.Call{call}, Usage: &session.Usage{Calls: 1, Input: 10, Output: 1}}
	})
}

// An agent whose session becomes too long goes on with a summary. What was said before is
// in the session's ancestors, and every token is counted once.
func TestAgentCompressesItself(t *testing.T) {
	build := func(rounds int) *flow.Agent {
		summary := scripted.Reply{Text: "They asked for words.", Usage: &session.Usage{Calls: 1, Input: 5, Output: 5}}
		return &flow.Agent{
			Model: talker(rounds), Tools: tool.Set{upper()}, CompressAt: 1000,
			Compress: &flow.Compressor{Model: scripted.Func(func(*llm.Request) scripted.Reply { return summary }), Keep: 2},
		}
	}
	rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
	out, err := build(12).Forward(effect.WithJournal(t.Context(), rec), session.FromUser("Put many words into capitals."))
	if err != nil || out.Text() != "done" {
		t.Fatal(out.Text(), err)
	}
	if n := flow.EstimateTokens(out.Transcript()); n > 1500 {
		t.Errorf("the session has %d tokens", n)
	}
	compressed, longest := 0, 0
	for s := out; ; s = s.Parents()[0] {
		if s.Lineage().Op == session.OpCompress {
			compressed++
		}
		if len(s.Transcript().OpenCalls()) != 0 {
			t.Errorf("session %s has calls without results", s.ID())
		}
		longest = max(longest, s.Len())
		if len(s.Parents()) == 0 {
			break
		}
	}
	if total := out.Total(); compressed < 2 || longest < 5 || total.Calls != int64(13+compressed) || total.Input != int64(130+5*compressed) {
		t.Errorf("%d times compressed, at most %d chunks, %+v", compressed, longest, total)
	}
	rec.replay, rec.seen = true, map[string]int{}
	again, err := build(0).Forward(effect.WithJournal(t.Context(), rec), session.FromUser("Put many words into capitals."))
	if err != nil || again.Digest() != out.Digest() || again.ID() != out.ID() {
		t.Errorf("the replay gives %s: %v", again.ID(), err)
	}
}

// A session that is too long from the start is compressed before anything is asked.
func TestAgentCompressesWhatItGets(t *testing.T) {
	in := session.FromUser(strings.Repeat("word ", 2000)).Append(replyOf("yes"), user("more "+strings.Repeat("word ", 2000)), replyOf("ok"), user("now"))
	var requests []llm.Request
	a := &flow.Agent{
		Model: asked(&requests, scripted.Reply{Text: "hi"}), CompressAt: 1000,
		Compress: &flow.Compressor{Model: scripted.New(scripted.Reply{Text: "words"}), Keep: 1},
	}
	out, err := a.Forward(t.Context(), in)
	if err != nil || len(requests) != 1 || requests[0].Messages.Len() != 2 || out.Len() != 3 {
		t.Fatalf("asked %d times, %d chunks: %v", len(requests), out.Len(), err)
	}
	a.Compress = &flow.Compressor{Model: scripted.New(), Keep: 1}
	out, err = a.Forward(t.Context(), in)
	var e *flow.Error
	if !errors.As(err, &e) || e.Op != "compress" || !out.Transcript().Equal(in.Transcript()) {
		t.Errorf("without a summary: %v", err)
	}
}
