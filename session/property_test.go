package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// genChunk draws chunks from a small alphabet, so that equal ones come up often, with
// call ids that recur.
func genChunk(t *rapid.T) Chunk {
	text := rapid.SampledFrom([]string{"", "a", "b", "ab", "ü\u2028</b>", "x\xffy", `{"kind":"user"}`})
	id := rapid.SampledFrom([]string{"1", "2", ""})
	part := rapid.Custom(func(t *rapid.T) Part {
		return Part{
			Kind: PartKind(rapid.IntRange(0, 3).Draw(t, "kind")), Text: text.Draw(t, "text"),
			Name: rapid.SampledFrom([]string{"", "a"}).Draw(t, "name"), Data: rapid.SampledFrom([]string{"", "a", "\xff\x00"}).Draw(t, "data"),
			Extra: rapid.SampledFrom([]string{"", "a"}).Draw(t, "extra"),
		}
	})
	parts := rapid.SliceOfN(part, 0, 2).Draw(t, "parts")
	switch rapid.IntRange(0, 3).Draw(t, "chunk") {
	case 0:
		return System(parts...)
	case 1:
		return User(parts...)
	case 2:
		calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Call {
			return Call{ID: id.Draw(t, "id"), Name: text.Draw(t, "name"), Arguments: text.Draw(t, "arguments")}
		}), 0, 2).Draw(t, "calls")
		return Assistant(parts, calls...)
	}
	return ToolResult(Answer{CallID: id.Draw(t, "id"), Tool: text.Draw(t, "tool"), Outcome: Outcome(rapid.IntRange(0, 3).Draw(t, "outcome"))}, parts...)
}

func genChunks(t *rapid.T, name string) []Chunk {
	return rapid.SliceOfN(rapid.Custom(genChunk), 0, 12).Draw(t, name)
}

func chunksOf(s Session) []Chunk {
	var out []Chunk
	for _, c := range s.All() {
		out = append(out, c)
	}
	return out
}

func equalChunks(a, b []Chunk) bool { return slices.EqualFunc(a, b, Chunk.Equal) }

// build appends chunks in random groups, through random forks.
func build(t *rapid.T, chunks []Chunk) Session {
	s := New()
	for len(chunks) > 0 {
		n := rapid.IntRange(1, len(chunks)).Draw(t, "group")
		s = s.Append(chunks[:n]...)
		chunks = chunks[n:]
		switch rapid.IntRange(0, 3).Draw(t, "detour") {
		case 0:
			s = s.Fork()
		case 1:
			s = s.Detach()
		case 2:
			s = Restore(s.Record())
		}
	}
	return s
}

func TestForkNeverChangesItsParent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := genChunks(t, "chunks")
		parent := build(t, chunks)
		before := parent.Record()
		fork := parent.Fork()
		a := fork.Append(genChunks(t, "a")...)
		b := parent.Append(genChunks(t, "b")...)
		if _, err := Merge(a, b); err != nil && !errors.Is(err, ErrCutCall) {
			t.Fatal(err)
		}
		if !equalChunks(chunksOf(parent), chunks) || parent.ID() != before.ID || parent.Digest() != before.Content.Digest() {
			t.Fatal("the parent changed")
		}
		if fork.ID() == parent.ID() || !equalChunks(chunksOf(fork), chunks) || fork.Lineage().Parents[0].ID != parent.ID() {
			t.Fatal("the fork is not one")
		}
	})
}

// A transcript against the slice that it stands for.
func TestTranscriptIsASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOfN(rapid.Custom(genChunk), 0, 700).Draw(t, "chunks") // beyond a window
		if rapid.Bool().Draw(t, "short") {
			chunks = chunks[:min(len(chunks), 20)]
		}
		s := Transcript{}.Append(chunks...)
		if s.Len() != len(chunks) {
			t.Fatalf("Len is %d, want %d", s.Len(), len(chunks))
		}
		from := rapid.IntRange(0, len(chunks)).Draw(t, "from")
		i := from
		for j, c := range s.From(from) {
			if j != i || !c.Equal(chunks[i]) || !s.At(i).Equal(chunks[i]) {
				t.Fatalf("chunk %d differs", i)
			}
			i++
		}
		if i != len(chunks) {
			t.Fatalf("From stopped at %d of %d", i, len(chunks))
		}
		if !s.First(from).Equal(Transcript{}.Append(chunks[:from]...)) {
			t.Fatalf("First(%d) is no prefix", from)
		}
	})
}

func TestLenIsAdditive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genChunks(t, "a"), genChunks(t, "b")
		s := build(t, a)
		both, err := Concat(s, build(t, b))
		if err != nil || s.Append(b...).Len() != len(a)+len(b) || both.Len() != len(a)+len(b) || !equalChunks(chunksOf(both), append(slices.Clone(a), b...)) {
			t.Fatal("lengths do not add up", err)
		}
	})
}

func TestDigestDependsOnContentAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genChunks(t, "a"), genChunks(t, "b")
		if rapid.Bool().Draw(t, "same") {
			b = slices.Clone(a)
			for i, c := range b { // through the codec
				data, err := json.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(data, &b[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		x, y := build(t, a), build(t, b)
		if equal := equalChunks(a, b); equal != (x.Digest() == y.Digest()) {
			t.Fatalf("content equal: %v, digests %s and %s", equal, x.Digest(), y.Digest())
		}
	})
}

func TestNearMissesHaveOtherDigests(t *testing.T) {
	seen := map[Digest]int{}
	for i, s := range []Session{
		{}, New(User()), New(System()), New(Assistant(nil)), New(ToolResult(Answer{})), New(User(Text(""))),
		New(User(Text("ab"))), New(User(Text("a"), Text("b"))), New(User(Text("a")), User(Text("b"))), New(User(Part{Name: "ab"})),
		New(User(Reasoning("ab", ""))), New(User(Reasoning("a", "b"))), New(User(Part{Data: "ab"})), New(User(ImageURL("ab"))),
		New(Assistant(nil, Call{ID: "a", Name: "b"})), New(Assistant(nil, Call{ID: "a", Arguments: "b"})), New(Assistant([]Part{Text("a")}, Call{ID: "b"})),
		New(ToolResult(Answer{CallID: "a", Tool: "b"})), New(ToolResult(Answer{CallID: "b", Tool: "a"})), New(ToolResult(Answer{Outcome: Failed})),
	} {
		if j, ok := seen[s.Digest()]; ok {
			t.Errorf("sessions %d and %d have one digest", i, j)
		}
		seen[s.Digest()] = i
	}
	if New(User(Text("a\xffb"))).Digest() != New(User(Text("a\uFFFDb"))).Digest() {
		t.Error("bad bytes are not replaced")
	}
}

func TestCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genChunk(t)
		data, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		canonical := jsontext.Value(bytes.Clone(data))
		if err := canonical.Canonicalize(); err != nil || !bytes.Equal(data, canonical) {
			t.Fatalf("%s is not canonical: %s, %v", data, canonical, err)
		}
		var back Chunk
		if err := back.UnmarshalJSON(data); err != nil || !back.Equal(c) {
			t.Fatalf("%s does not come back: %v", data, err)
		}
	})
}

// splits reports, by the definition, whether cutting at n parts a call from its result.
func splits(chunks []Chunk, n int) bool {
	for i := n; i < len(chunks); i++ {
		if chunks[i].Kind() != KindToolResult {
			continue
		}
	search:
		for j := i - 1; j >= 0; j-- { // the latest call before it with its id
			for call := range chunks[j].Calls() {
				if call.ID == chunks[i].Answer().CallID {
					if j < n {
						return true
					}
					break search
				}
			}
		}
	}
	return false
}

func TestForkAtNeverPartsACall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := genChunks(t, "chunks")
		n := rapid.IntRange(0, len(chunks)).Draw(t, "n")
		s := build(t, chunks)
		fork, err := s.ForkAt(n)
		if splits(chunks, n) != errors.Is(err, ErrCutCall) {
			t.Fatalf("splits is %v, the error %v", splits(chunks, n), err)
		}
		if err == nil && !equalChunks(chunksOf(fork), chunks[:n]) {
			t.Fatal("the fork keeps other chunks")
		}
	})
	for _, n := range []int{-1, 2} {
		if _, err := FromUser("x").ForkAt(n); err == nil {
			t.Errorf("ForkAt(%d) of one chunk", n)
		}
	}
}

// unique chunks, so that every one can be counted.
func label(name string, n int) []Chunk {
	var out []Chunk
	for i := range n {
		out = append(out, User(Text(fmt.Sprint(name, i))))
	}
	return out
}

func TestMergeKeepsEachChunkOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return rapid.IntRange(0, 5).Draw(t, name) }
		base := New(label("base", n("base"))...)
		sub := base.Append(label("sub", n("sub"))...) // a branch that two of the parts share
		own := [][]Chunk{label("a", n("a")), label("b", n("b")), label("c", n("c"))}
		merged, err := Merge(sub.Append(own[0]...), base.Fork().Append(own[1]...), Restore(sub.Append(own[2]...).Record()))
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Concat(chunksOf(sub), own[0], own[1], own[2])
		if !equalChunks(chunksOf(merged), want) {
			t.Fatal(cmp.Diff(fmt.Sprint(want), fmt.Sprint(chunksOf(merged))))
		}
		if merged.Usage() != (Usage{}) || len(merged.Lineage().Parents) != 3 {
			t.Fatalf("%+v", merged.Lineage())
		}
	})
}

func TestMergeOfOneAndNone(t *testing.T) {
	s := FromUser("x")
	if m, err := Merge(s); m.ID() != s.ID() || err != nil {
		t.Error("merging one gives another")
	}
	if m, err := Merge(s, s.Fork()); !m.Transcript().Equal(s.Transcript()) || err != nil {
		t.Error("merging a fork that did nothing adds something")
	}
	if _, err := Merge(); !errors.Is(err, ErrNothingToMerge) {
		t.Error(err)
	}
}

func TestMergeRefusesToPartACall(t *testing.T) {
	open := New(Assistant(nil, Call{ID: "c", Name: "f"}))
	done := func(text string) Session { return open.Append(ToolResult(Answer{CallID: "c"}, Text(text))) }
	if _, err := Merge(done("a"), done("b")); !errors.Is(err, ErrCutCall) {
		t.Errorf("two results for one call: %v", err)
	}
	if m, err := Merge(open, done("a")); err != nil || m.Len() != 2 {
		t.Errorf("one branch that only goes on: %v", err)
	}
}

func TestDiffAndMergeAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := build(t, genChunks(t, "base"))
		a, b := base.Append(genChunks(t, "a")...), build(t, chunksOf(base)).Append(genChunks(t, "b")...)
		d := Diff(a, b)
		ca, cb := chunksOf(a), chunksOf(b)
		n := 0
		for n < len(ca) && n < len(cb) && ca[n].Equal(cb[n]) {
			n++
		}
		if d.Common != n || !equalChunks(d.OnlyA, ca[n:]) || !equalChunks(d.OnlyB, cb[n:]) {
			t.Fatalf("the common prefix is %d, Diff says %d", n, d.Common)
		}
		merged, err := Merge(a, b)
		if errors.Is(err, ErrCutCall) {
			return
		}
		if err != nil || !equalChunks(chunksOf(merged), slices.Concat(ca[:n], d.OnlyA, d.OnlyB)) {
			t.Fatalf("Merge is not what Diff says: %v", err)
		}
	})
}

func TestOpenCalls(t *testing.T) {
	calls := Assistant(nil, Call{ID: "a"}, Call{ID: "b"})
	s := Transcript{}.Append(calls, ToolResult(Answer{CallID: "b"}))
	if open := s.OpenCalls(); len(open) != 1 || open[0].ID != "a" {
		t.Error(open)
	}
	if open := s.Append(ToolResult(Answer{CallID: "a"})).OpenCalls(); open != nil {
		t.Error(open)
	}
}

// A random graph against its definition.
func TestAncestors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := []Session{FromUser("root")}
		above := []map[ID]bool{{}}
		pick := rapid.Custom(func(t *rapid.T) int { return rapid.IntRange(0, len(nodes)-1).Draw(t, "node") })
		for range rapid.IntRange(1, 15).Draw(t, "n") {
			i, j := pick.Draw(t, "i"), pick.Draw(t, "j")
			s, up := nodes[i].Fork(), map[ID]bool{}
			parents := []int{i}
			if rapid.Bool().Draw(t, "merge") && i != j {
				var err error
				if s, err = Merge(nodes[i], nodes[j]); err != nil {
					t.Fatal(err)
				}
				parents = append(parents, j)
			}
			s = s.Derive(s.Transcript(), Step{Usage: Usage{Calls: 1}})
			for _, p := range s.Parents() { // the fork or merge between
				up[p.ID()] = true
			}
			for _, p := range parents {
				up[nodes[p].ID()] = true
				for id := range above[p] {
					up[id] = true
				}
			}
			nodes, above = append(nodes, s), append(above, up)
		}
		x, y := pick.Draw(t, "x"), pick.Draw(t, "y")
		seen := map[ID]bool{}
		for a := range nodes[x].Ancestors() {
			for _, p := range a.Parents() {
				if seen[p.ID()] {
					t.Fatal("a parent came before its child")
				}
			}
			if seen[a.ID()] || !above[x][a.ID()] {
				t.Fatal("an ancestor came twice, or is none")
			}
			seen[a.ID()] = true
		}
		if len(seen) != len(above[x]) {
			t.Fatalf("%d ancestors of %d", len(seen), len(above[x]))
		}
		common, ok := CommonAncestor(nodes[x], nodes[y])
		inBoth := func(id ID) bool {
			return (id == nodes[x].ID() || above[x][id]) && (id == nodes[y].ID() || above[y][id])
		}
		if !ok || !inBoth(common.ID()) {
			t.Fatal("the common ancestor is none")
		}
		for a := range nodes[x].Ancestors() {
			if inBoth(a.ID()) && a.n.depth > common.n.depth {
				t.Fatal("there is a nearer common ancestor")
			}
		}
	})
}

func TestTotalCountsEachAncestorOnce(t *testing.T) {
	one := Usage{Calls: 1, Input: 10, Cost: Cost{Unpriced: 1}}
	base := FromUser("x").Derive(Transcript{}, Step{Usage: one})
	a := base.Derive(base.Transcript(), Step{Usage: one})
	b := base.Derive(base.Transcript(), Step{Usage: one})
	m, err := Merge(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if total := m.Total(); total.Calls != 3 || total.Input != 30 || total.Cost.Known() || total.Cost.String() != "unknown" {
		t.Errorf("%+v", total)
	}
	if m.Detach().Total() != (Usage{}) {
		t.Error("a detached session still has ancestors")
	}
}

func TestLongChainsDoNotRecurse(t *testing.T) {
	s := FromUser("x")
	first := s
	for range 100_000 {
		s = s.Fork()
	}
	n := 0
	for range s.Ancestors() {
		n++
	}
	if common, ok := CommonAncestor(first, s); n != 100_000 || !ok || common.ID() != first.ID() {
		t.Errorf("%d ancestors", n)
	}
	var long Transcript
	for range 100_000 {
		long = long.Append(User())
	}
	if long.Digest() == (Digest{}) {
		t.Error("no digest")
	}
}

func TestSharedValuesUnderRace(t *testing.T) {
	base := New(label("x", 300)...)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := base.Fork().Append(label(fmt.Sprint(i), 3)...)
			if s.Digest() == base.Digest() || base.Len() != 300 {
				t.Error("the base changed")
			}
			if _, err := Merge(base, s); err != nil {
				t.Error(err)
			}
			_ = Diff(base, s)
			for range base.All() {
			}
		})
	}
	wg.Wait()
}

func TestCallerCannotChangeAChunk(t *testing.T) {
	parts, calls := []Part{Text("a")}, []Call{{ID: "1"}}
	c := Assistant(parts, calls...)
	parts[0].Text, calls[0].ID = "changed", "changed"
	for p := range c.Parts() {
		if p.Text != "a" {
			t.Error("a part changed")
		}
	}
	for call := range c.Calls() {
		if call.ID != "1" {
			t.Error("a call changed")
		}
	}
}

func TestRecordAndRestore(t *testing.T) {
	parent := FromUser("p")
	s := parent.Derive(parent.Transcript(), Step{
		Op: OpCompress, Usage: Usage{Calls: 1}, Path: "a/b", Run: "r", Parents: []Link{{FromSystem("s"), RolePrompt}}, Extras: []Extra{{"k", "v"}},
	})
	back := Restore(s.Record(), parent)
	if diff := cmp.Diff(s.Lineage(), back.Lineage()); diff != "" || back.ID() != s.ID() || back.Digest() != s.Digest() || back.Usage() != s.Usage() {
		t.Error(diff)
	}
	if ps := back.Parents(); len(ps) != 1 || ps[0].ID() != parent.ID() {
		t.Error("the given parent is not linked")
	}
}

func TestMintIsInherited(t *testing.T) {
	n := byte(0)
	id, at := NewID()
	s := FromUser("x").WithMint(func() (ID, time.Time) { n++; next := id; next[15] = n; return next, at })
	if f := s.Fork().Append(User()); f.ID()[15] != 2 {
		t.Errorf("%v", f.ID())
	}
}

func TestIDsSortByTime(t *testing.T) {
	last, _ := NewID()
	for range 1000 {
		id, at := NewID()
		if slices.Compare(id[:7], last[:7]) < 0 {
			t.Fatal("ids do not sort")
		}
		if back, err := ParseID(id.String()); back != id || err != nil || at.IsZero() {
			t.Fatal(err)
		}
		last = id
	}
	if _, err := ParseID("nope"); err == nil {
		t.Error("nope is an id")
	}
}

func FuzzChunk(f *testing.F) {
	for _, c := range []Chunk{User(Text("x"), Image("image/png", []byte{0xff})), Assistant([]Part{Reasoning("r", "{}")}, Call{"1", "f", "{}", ""}), ToolResult(Answer{"1", "f", Failed}, Text("ü"))} {
		f.Add(c.canonical())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, back Chunk
		if c.UnmarshalJSON(data) != nil {
			return
		}
		canonical, err := c.MarshalJSON()
		if err != nil {
			t.Fatalf("accepted %q and cannot write it: %v", data, err)
		}
		if err := back.UnmarshalJSON(canonical); err != nil || !back.Equal(c) {
			t.Fatalf("%q came back as %q: %v", data, canonical, err)
		}
	})
}
