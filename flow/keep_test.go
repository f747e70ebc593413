package flow_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"pgregory.net/rapid"
)

// genTranscript draws chunks that each say their number, with call ids that recur, calls
// without results and results without calls.
func genTranscript(t *rapid.T) []session.Chunk {
	id := rapid.SampledFrom([]string{"1", "2", "3"})
	chunks := make([]session.Chunk, rapid.IntRange(0, 24).Draw(t, "chunks"))
	for i := range chunks {
		text := "n" + strconv.Itoa(i)
		switch rapid.SampledFrom([]string{"user", "reply", "reply", "result", "result", "system"}).Draw(t, "kind") {
		case "user":
			chunks[i] = user(text)
		case "reply":
			chunks[i] = replyOf(text, rapid.SliceOfNDistinct(id, 0, 2, rapid.ID[string]).Draw(t, "calls")...)
		case "result":
			chunks[i] = resultOf(id.Draw(t, "id"), text)
		default:
			chunks[i] = session.System(session.Text(text))
		}
	}
	return chunks
}

// pairs are the calls and results of a transcript that belong together, by what their
// chunks say, and the calls that have none.
func pairs(chunks []session.Chunk) (both map[string][2]string, open []string) {
	both = map[string][2]string{}
	answered := map[string]bool{}
	for i, c := range chunks {
		if c.Kind() != session.KindToolResult {
			continue
		}
		id := c.Answer().CallID
		for _, d := range slices.Backward(chunks[:i]) {
			if slices.ContainsFunc(slices.Collect(d.Calls()), func(call session.Call) bool { return call.ID == id }) {
				both[d.Text()+" "+id+" "+c.Text()] = [2]string{d.Text(), c.Text()}
				answered[d.Text()+" "+id] = true
				break
			}
		}
	}
	for _, c := range chunks {
		for call := range c.Calls() {
			if !answered[c.Text()+" "+call.ID] {
				open = append(open, c.Text())
			}
		}
	}
	return both, open
}

func chunksOf(s session.Session) (out []session.Chunk) {
	for _, c := range s.All() {
		out = append(out, c)
	}
	return out
}

// turnsIn counts user messages and replies.
func turnsIn(chunks []session.Chunk) (n int) {
	for _, c := range chunks {
		if c.Kind() == session.KindUser || c.Kind() == session.KindAssistant {
			n++
		}
	}
	return n
}

func TestCompressionKeepsWhatItMust(t *testing.T) {
	compressed := 0
	rapid.Check(t, func(t *rapid.T) {
		chunks := genTranscript(t)
		keep := rapid.IntRange(1, 5).Draw(t, "keep")
		in := session.New(chunks...)
		c := &flow.Compressor{Keep: keep, Window: rapid.SampledFrom([]int{0, 50}).Draw(t, "window"), Model: scripted.Func(func(*llm.Request) scripted.Reply { return summary("S") })}
		rec := &recording{seen: map[string]int{}, kept: map[string]effect.Outcome{}}
		out, err := c.Forward(effect.WithJournal(t.Context(), rec), in)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := c.Forward(t.Context(), out); err != nil || again.ID() != out.ID() {
			t.Fatalf("compressed again: %q, %v", textsOf(again), err)
		}
		if out.ID() == in.ID() {
			return
		}
		compressed++
		checkCompressed(t, in, out, keep)
		rec.replay, rec.seen = true, map[string]int{}
		second, err := c.Forward(effect.WithJournal(t.Context(), rec), in)
		if err != nil || second.ID() != out.ID() || second.Digest() != out.Digest() {
			t.Fatalf("the replay gives %q, %v", textsOf(second), err)
		}
	})
	if compressed < 20 {
		t.Errorf("only %d sessions were compressed", compressed)
	}
}

func checkCompressed(t *rapid.T, in, out session.Session, keep int) {
	before, after := chunksOf(in), chunksOf(out)
	texts := textsOf(out)
	left := func(text string) bool { return slices.Contains(texts, text) }
	both, open := pairs(before)
	still, _ := pairs(after)
	for key, p := range both {
		if _, ok := still[key]; left(p[0]) != left(p[1]) || ok != left(p[0]) {
			t.Fatalf("%q became %q: call and result of %s", textsOf(in), texts, key)
		}
	}
	if len(still) > len(both) {
		t.Fatalf("results belong to other calls: %v", still)
	}
	for _, text := range open {
		if !left(text) {
			t.Fatalf("the unfinished call of %s is gone from %q", text, texts)
		}
	}
	// The prefix that the lineage names is the parent's; all of what is gone is in it.
	at := 0
	for at < in.Len() && in.Transcript().First(at).Digest().String() != extraOf(out, "compress.from") {
		at++
	}
	if in.Transcript().First(at).Digest().String() != extraOf(out, "compress.from") {
		t.Fatal("the digest is that of no prefix of the parent")
	}
	if tail := before[at:]; !slices.EqualFunc(after[len(after)-len(tail):], tail, session.Chunk.Equal) || turnsIn(tail) != keep {
		t.Fatalf("of %q the last %d turns are not the end of %q", textsOf(in), keep, texts)
	}
	gone := 0
	for _, c := range before[:at] {
		if !left(c.Text()) {
			gone++
		}
	}
	if fmt.Sprint(gone) != extraOf(out, "compress.removed") || fmt.Sprint(len(before)-gone) != extraOf(out, "compress.kept") || len(after) != len(before)-gone+1 {
		t.Fatalf("%d are gone of %d, %d are left; the lineage says %v", gone, len(before), len(after), out.Lineage().Extras)
	}
	for i := 0; i < len(before) && before[i].Kind() == session.KindSystem; i++ {
		if !after[i].Equal(before[i]) {
			t.Fatalf("the system chunk %d is gone", i)
		}
	}
}
