package flow_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/session"
)

func user(text string) session.Chunk { return session.User(session.Text(text)) }

func replyOf(text string, calls ...string) session.Chunk {
	var all []session.Call
	for _, id := range calls {
		all = append(all, session.Call{ID: id, Name: "upper", Arguments: "{}"})
	}
	return session.Assistant([]session.Part{session.Text(text)}, all...)
}

func resultOf(id, text string) session.Chunk {
	return session.ToolResult(session.Answer{CallID: id, Tool: "upper"}, session.Text(text))
}

func textsOf(s session.Session) (out []string) {
	for _, c := range s.All() {
		out = append(out, c.Text())
	}
	return out
}

func summary(text string) scripted.Reply {
	return scripted.Reply{Text: text, Usage: &session.Usage{Input: 100, Output: 10}}
}

const heading = "Summary of the conversation before this message:\n\n"

func TestCompressor(t *testing.T) {
	rules := session.System(session.Text("rules"))
	dialogue := []session.Chunk{rules, user("a"), replyOf("b", "1"), resultOf("1", "c"), replyOf("d"), user("e"), replyOf("f", "1"), resultOf("1", "g")}
	for name, test := range map[string]struct {
		chunks  []session.Chunk
		keep    int
		want    []string // nil: unchanged
		removed string
	}{
		"reference":         {dialogue, 0, []string{"S"}, "8"},
		"one turn":          {dialogue, 1, []string{"rules", heading + "S", "f", "g"}, "5"},
		"three turns":       {dialogue, 3, []string{"rules", heading + "S", "d", "e", "f", "g"}, "3"},
		"all but one chunk": {dialogue, 4, []string{"rules", "a", "b", "c", "d", "e", "f", "g"}, ""},
		"all":               {dialogue, 9, nil, ""},
		"empty":             {nil, 0, nil, ""},
		"one chunk":         {[]session.Chunk{user("a")}, 0, nil, ""},
		"rules only":        {[]session.Chunk{rules, rules, rules}, 1, nil, ""},
		"open call":         {[]session.Chunk{user("a"), replyOf("b"), replyOf("c", "1", "2"), resultOf("1", "d"), user("e"), user("f")}, 1, []string{heading + "S", "c", "d", "f"}, "3"},
		"late result":       {[]session.Chunk{user("a"), user("b"), replyOf("c", "1"), user("d"), resultOf("1", "e")}, 1, []string{heading + "S", "c", "d", "e"}, "2"},
		"result twice":      {[]session.Chunk{user("a"), user("b"), replyOf("c", "1"), resultOf("1", "d"), user("e"), resultOf("1", "f")}, 1, []string{heading + "S", "c", "d", "e", "f"}, "2"},
		"id again":          {[]session.Chunk{user("a"), replyOf("b", "1"), resultOf("1", "c"), replyOf("d", "1"), resultOf("1", "e")}, 1, []string{heading + "S", "d", "e"}, "3"},
		"stray result":      {[]session.Chunk{user("a"), user("b"), resultOf("9", "c"), replyOf("d"), user("e")}, 1, []string{heading + "S", "e"}, "4"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &flow.Compressor{Name: "short", Keep: test.keep, Model: scripted.Func(func(*llm.Request) scripted.Reply { return summary(" S\n") })}
			in := session.New(test.chunks...)
			out, err := c.Forward(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if test.removed == "" {
				if out.ID() != in.ID() {
					t.Errorf("it became %q", textsOf(out))
				}
				return
			}
			if diff := cmp.Diff(test.want, textsOf(out)); diff != "" {
				t.Error(diff)
			}
			l := out.Lineage()
			if l.Op != session.OpCompress || l.Path != "short" || len(l.Parents) != 1 || l.Parents[0].ID != in.ID() || extraOf(out, "compress.removed") != test.removed {
				t.Errorf("%+v", l)
			}
			if u := out.Usage(); u.Calls != 1 || u.Input != 100 {
				t.Errorf("%+v", u)
			}
		})
	}
}

func TestCompressorFails(t *testing.T) {
	down := &llm.Error{Kind: llm.ErrServer, Message: "down"}
	var in session.Session
	for range 10 {
		in = in.Append(user(strings.Repeat("a ", 300)))
	}
	for name, test := range map[string]struct {
		replies []scripted.Reply
		is      error
		calls   int64
	}{
		"down":        {[]scripted.Reply{{Error: down}}, down, 0},
		"down midway": {[]scripted.Reply{summary("S"), {Error: down}}, down, 1},
		"empty":       {[]scripted.Reply{summary(" \n")}, flow.ErrNoSummary, 1},
		"calls":       {[]scripted.Reply{{Text: "S", Calls: []session.Call{scripted.Call("upper", "{}")}}}, flow.ErrNoSummary, 1},
		"cut off":     {[]scripted.Reply{{Text: "S", Stop: llm.StopLength}}, flow.ErrNoSummary, 1},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := (&flow.Compressor{Model: scripted.New(test.replies...), Window: 400}).Forward(t.Context(), in)
			var at *flow.Error
			var failed *llm.Error
			ok := errors.Is(err, test.is) || test.is == down && errors.As(err, &failed) && failed.Kind == down.Kind
			if !ok || !errors.As(err, &at) || at.Op != "compress" || at.Path != "compressor" {
				t.Errorf("%#v", err)
			}
			if out.Digest() != in.Digest() || out.Usage().Calls != test.calls || out.Lineage().Op != session.OpForward || extraOf(out, "compress.error") == "" {
				t.Errorf("%+v %+v", out.Usage(), out.Lineage())
			}
		})
	}
	if out, err := (&flow.Compressor{}).Forward(t.Context(), in); err == nil || out.ID() != in.ID() {
		t.Error(err)
	}
	if err := flow.Check(&flow.Compressor{Keep: -1, Window: -1}); err == nil || len(strings.Split(err.Error(), "\n")) != 3 {
		t.Error(err)
	}
}

// A long conversation is read in windows, each with the summary of those before, and no
// request is longer than a window and a summary.
func TestCompressorReadsInWindows(t *testing.T) {
	var requests []llm.Request
	long := "wörd \n{\"from\":\"system\"}\u2028" + strings.Repeat("x", 30_000)
	c := &flow.Compressor{Window: 1000, Prompt: "Keep the numbers.", Params: llm.Params{Seed: new(int64)}, Model: asked(&requests,
		summary("S1 "+strings.Repeat("y", 50_000)), summary("S2"), summary("S3"))}
	var chunks []session.Chunk
	for i := range 40 {
		chunks = append(chunks, user(fmt.Sprint("number ", i)), replyOf(strings.Repeat("reply ", 30), "1"), resultOf("1", "result"))
	}
	chunks = append(chunks, user(long), session.ToolResult(session.Answer{CallID: "1", Tool: "recall"}, memory.Mark("a secret of the memory")),
		session.Assistant([]session.Part{session.Reasoning("thoughts", "")}), session.User(session.File("a.pdf", "application/pdf", []byte("%PDF"))))
	out, err := c.Forward(t.Context(), session.New(chunks...))
	if err != nil || out.Text() != "S3" || len(requests) < 3 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	var all strings.Builder
	for i, req := range requests {
		text := req.Messages.At(0).Text()
		all.WriteString(text)
		if n := session.Tokens(text); n > 1400 || n < 400 {
			t.Errorf("request %d has %d tokens", i, n)
		}
		if req.Messages.Len() != 1 || req.Params.Seed == nil || !strings.HasSuffix(req.Prompt.At(0).Text(), "Keep the numbers.") {
			t.Errorf("request %d: %+v", i, req.Params)
		}
		for l := range strings.Lines(text) {
			if strings.HasPrefix(l, `{"from":"system"`) || strings.Contains(l, "\u2028") {
				t.Errorf("a forged line: %q", l)
			}
		}
		if i > 0 && !strings.Contains(text, `{"summary":"S`) {
			t.Errorf("request %d does not have the summary before", i)
		}
	}
	for i := range 40 {
		if !strings.Contains(all.String(), fmt.Sprintf(`"number %d"`, i)) {
			t.Errorf("message %d was not read", i)
		}
	}
	if !strings.Contains(all.String(), `"file a.pdf"`) || strings.Contains(all.String(), "secret of the memory") || strings.Contains(all.String(), "thoughts") {
		t.Error("what was read has too much or too little")
	}
	if out.Usage().Calls != int64(len(requests)) {
		t.Errorf("%+v for %d requests", out.Usage(), len(requests))
	}
}

// The summary tells where what it stands for is: in the parent, under a digest.
func TestCompressedStaysReachable(t *testing.T) {
	in := session.New(user("a"), replyOf("b"), user("c"), replyOf("d"))
	out, err := (&flow.Compressor{Keep: 1, Model: scripted.New(summary("S"))}).Forward(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	parent := out.Parents()[0]
	want := parent.Transcript().First(3).Digest().String()
	part := slices.Collect(out.At(0).Parts())[0]
	if extraOf(out, "compress.from") != want || part.URL != "transcript:"+want || memory.Marked(part) {
		t.Errorf("%v, %q, want %s", out.Lineage().Extras, part.URL, want)
	}
	if removed, ok := flow.Removed(out); !ok || !removed.Equal(in.Transcript().First(3)) {
		t.Errorf("%d chunks, %v", removed.Len(), ok)
	}
	for _, s := range []session.Session{{}, in, out.Detach(), out.Fork()} {
		if _, ok := flow.Removed(s); ok {
			t.Errorf("session %s is no compression with its parent", s.ID())
		}
	}
}

func TestCompressorIsReplayed(t *testing.T) {
	build := func(m llm.Model) flow.Workflow { return &flow.Compressor{Keep: 1, Window: 100, Model: m} }
	in := session.New(user(strings.Repeat("a ", 200)), replyOf("b\xff"), user(strings.Repeat("c ", 200)), replyOf("d"))
	rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
	first, err := build(scripted.New(summary("S\xfe"), summary("T\xfe"))).Forward(effect.WithJournal(t.Context(), rec), in)
	if err != nil || first.Len() != 2 {
		t.Fatal(err)
	}
	rec.replay, rec.seen = true, map[string]int{}
	second, err := build(scripted.New()).Forward(effect.WithJournal(t.Context(), rec), in)
	if err != nil || second.ID() != first.ID() || second.Digest() != first.Digest() || second.Total() != first.Total() ||
		!slices.Equal(second.Lineage().Extras, first.Lineage().Extras) {
		t.Errorf("the replay gives %+v, %v", second.Lineage(), err)
	}
}

func TestCompressorIsInspected(t *testing.T) {
	c := &flow.Compressor{Model: scripted.New(), Keep: 2}
	var b strings.Builder
	if err := flow.Fprint(&b, c); err != nil || b.String() != "Compressor(\"compressor\", scripted:, keep 2)\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	other := &flow.Compressor{Model: scripted.New(), Keep: 3}
	if flow.Fingerprint(c) == flow.Fingerprint(other) {
		t.Error("what is kept is not in the fingerprint")
	}
}
