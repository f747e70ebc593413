package flow_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// worker calls upper so many times, each time with something else to say.
func worker(rounds, compressAt int, requests *[]llm.Request) *flow.Agent {
	calls := 0
	return &flow.Agent{
		Tools: tool.Set{upper()}, CompressAt: compressAt, Compress: &flow.Compressor{Keep: 2, Model: scripted.Func(func(*llm.Request) scripted.Reply {
			return scripted.Reply{Text: "They go on.", Usage: &session.Usage{Input: 100, Output: 1}}
		})},
		Model: scripted.Func(func(req *llm.Request) scripted.Reply {
			*requests = append(*requests, *req)
			usage := &session.Usage{Input: 1}
			if calls++; calls > rounds {
				return scripted.Reply{Text: "done", Usage: usage}
			}
			return scripted.Reply{Usage: usage, Calls: []session.Call{
				{ID: "1", Name: "upper", Arguments: fmt.Sprintf(`{"text":"a%d %s"}`, calls, strings.Repeat("x", 400))},
				{ID: "2", Name: "upper", Arguments: fmt.Sprintf(`{"text":"b%d"}`, calls)},
			}}
		}),
	}
}

// A long conversation is compressed again and again; the model never sees a call without
// its result, nothing is lost from the graph, and nothing is counted twice.
func TestAgentCompresses(t *testing.T) {
	const rounds, at = 40, 1500
	var requests []llm.Request
	a := worker(rounds, at, &requests)
	rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
	begun, ended := map[session.ID]int{}, map[session.ID]int{}
	ctx := flow.Observe(effect.WithJournal(t.Context(), rec), func(e flow.Event) {
		switch e := e.(type) {
		case flow.Begin:
			begun[e.Draft.ID()]++
		case flow.End:
			ended[e.Session.ID()]++
		}
	})
	f := flow.Go(ctx, a, session.FromUser("Shout."))
	out, err := f.Wait()
	if err != nil || out.ID() != f.ID() || out.Text() != "done" {
		t.Fatal(out.Text(), err)
	}
	for i, req := range requests {
		if n := req.Messages.Tokens(); n > at {
			t.Errorf("request %d has %d tokens", i, n)
		}
		both, open := pairs(chunksOf(session.Restore(session.Record{Content: req.Messages})))
		if len(open) > 0 || len(both) == 0 && i > 0 {
			t.Errorf("request %d has open calls: %v", i, open)
		}
	}
	compressions, seen := int64(0), map[string]bool{}
	for a := range out.Ancestors() {
		if a.ID() == out.ID() {
			t.Errorf("an ancestor, %d chunks long, has the session's own id", a.Len())
		}
		if a.Lineage().Op == session.OpCompress {
			compressions++
		}
		for _, text := range textsOf(a) {
			seen[text] = true
		}
	}
	for i := range rounds - 2 {
		if !seen[fmt.Sprint("B", i+1)] {
			t.Errorf("the result B%d is nowhere in the graph", i+1)
		}
	}
	if total := out.Total(); compressions < 4 || compressions > 20 || total.Calls != rounds+1+compressions || total.Input != rounds+1+100*compressions {
		t.Errorf("%d compressions, %+v", compressions, total)
	}
	for id, n := range begun {
		if n != 1 || ended[id] != 1 {
			t.Errorf("session %s began %d times and ended %d times", id, n, ended[id])
		}
	}
	rec.replay, rec.seen = true, map[string]int{}
	var none []llm.Request
	again, err := flow.Go(effect.WithJournal(t.Context(), rec), worker(rounds, at, &none), session.FromUser("Shout.")).Wait()
	if err != nil || again.Digest() != out.Digest() || again.Total() != out.Total() || len(none) > 0 {
		t.Errorf("the replay: %v", err)
	}
}

func TestAgentCannotCompress(t *testing.T) {
	var requests []llm.Request
	a := worker(40, 1500, &requests)
	a.Compress.Model = scripted.New()
	out, err := a.Forward(t.Context(), session.FromUser("Shout."))
	var at *flow.Error
	if !errors.As(err, &at) || at.Op != "compress" || !slices.Contains(textsOf(out), "B1") || out.Total().Calls != int64(len(requests)) {
		t.Errorf("%v, %d chunks, %+v", err, out.Len(), out.Total())
	}
	if err := flow.Check(&flow.Agent{Model: a.Model, CompressAt: 5}); err == nil {
		t.Error("an agent that never compresses passes the check")
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
