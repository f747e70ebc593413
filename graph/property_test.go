package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/session"
	"pgregory.net/rapid"
)

// naive is a graph as a table of parents.
type naive map[session.ID]session.Head

// genHeads draws sessions whose parents came before them or are absent, in any order.
func genHeads(t *rapid.T) []session.Head {
	n := rapid.IntRange(0, 24).Draw(t, "n")
	heads := make([]session.Head, n)
	for i := range heads {
		h := head(2*i, nil...)
		h.Lineage.Op = session.Op(rapid.IntRange(1, 9).Draw(t, "op"))
		h.Lineage.Run = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "run")
		h.Lineage.Path = rapid.SampledFrom([]string{"", "a", "a/b", "ab"}).Draw(t, "path")
		h.Lineage.Time = at(rapid.IntRange(0, 5).Draw(t, "time"))
		h.Usage = session.Usage{Calls: int64(rapid.IntRange(0, 1).Draw(t, "calls"))}
		if h.Usage.Calls > 0 {
			h.Usage.Input, h.Usage.Cost = 1<<i, session.Cost{Nano: 1 << i, Unpriced: int64(i % 2)}
		}
		for range rapid.IntRange(0, 4).Draw(t, "parents") {
			from := rapid.IntRange(-2, 2*i-1).Draw(t, "parent") // odd and negative: absent
			role := rapid.SampledFrom([]session.Role{session.RoleInput, session.RolePrompt, session.RoleBranch, "own"}).Draw(t, "role")
			h.Lineage.Parents = append(h.Lineage.Parents, session.Parent{ID: id(from), Role: role})
		}
		heads[i] = h
	}
	return rapid.Permutation(heads).Draw(t, "order")
}

func naiveOf(heads []session.Head) naive {
	out := naive{}
	for _, h := range heads {
		out[h.ID] = h
	}
	return out
}

func (n naive) here(id session.ID) bool {
	_, ok := n[id]
	return ok
}

// known returns every id, absent ones too.
func (n naive) known() []session.ID {
	ids := map[session.ID]bool{}
	for id, h := range n {
		ids[id] = true
		for _, p := range h.Lineage.Parents {
			ids[p.ID] = true
		}
	}
	return sorted(maps.Keys(ids))
}

func sorted(ids func(func(session.ID) bool)) []session.ID {
	return slices.SortedFunc(ids, func(a, b session.ID) int { return bytes.Compare(a[:], b[:]) })
}

// ancestors includes the session itself.
func (n naive) ancestors(id session.ID) map[session.ID]bool {
	out := map[session.ID]bool{id: true}
	for _, p := range n[id].Lineage.Parents {
		maps.Copy(out, n.ancestors(p.ID))
	}
	return out
}

func (n naive) depth(id session.ID) int {
	d := 0
	for _, p := range n[id].Lineage.Parents {
		d = max(d, n.depth(p.ID)+1)
	}
	return d
}

func equal(t *rapid.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func TestWalksAreTheNaiveOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := genHeads(t)
		n, g := naiveOf(heads), rapidGraph(t, heads)
		place := map[session.ID]int{}
		for i, h := range g.heads {
			place[h.ID] = i
		}
		for _, id := range n.known() {
			above := n.ancestors(id)
			delete(above, id)
			got := slices.Collect(g.Ancestors(id))
			equal(t, "ancestors", sorted(maps.Keys(above)), sorted(slices.Values(got)))
			if !slices.IsSortedFunc(got, func(a, b session.ID) int { return place[b] - place[a] }) {
				t.Fatalf("ancestors are out of order")
			}
			below := map[session.ID]bool{}
			for other := range n {
				if other != id && n.ancestors(other)[id] {
					below[other] = true
				}
			}
			got = slices.Collect(g.Descendants(id))
			equal(t, "descendants", sorted(maps.Keys(below)), sorted(slices.Values(got)))
			if !slices.IsSortedFunc(got, func(a, b session.ID) int { return place[a] - place[b] }) {
				t.Fatalf("descendants are out of order")
			}
		}
	})
}

func rapidGraph(t *rapid.T, heads []session.Head) *Graph {
	g, err := New(each(heads...))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOrderIsTopological(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := genHeads(t)
		n, g := naiveOf(heads), rapidGraph(t, heads)
		order := slices.Collect(g.Topological())
		equal(t, "sessions", sorted(maps.Keys(n)), sorted(slices.Values(order)))
		for i, id := range order {
			for _, p := range n[id].Lineage.Parents {
				if n.here(p.ID) && slices.Index(order, p.ID) >= i {
					t.Fatalf("%s comes before its parent %s", id, p.ID)
				}
			}
		}
		again := rapidGraph(t, rapid.Permutation(heads).Draw(t, "again"))
		equal(t, "order", order, slices.Collect(again.Topological()))
		var absent, roots []session.ID
		for _, id := range n.known() {
			isHere := func(p session.Parent) bool { return n.here(p.ID) }
			if !n.here(id) {
				absent = append(absent, id)
			} else if !slices.ContainsFunc(n[id].Lineage.Parents, isHere) {
				roots = append(roots, id)
			}
		}
		equal(t, "absent", absent, sorted(g.Absent()))
		equal(t, "roots", roots, sorted(g.Roots()))
		for id := range g.Leaves() {
			equal(t, "a leaf's children", []session.ID(nil), g.Children(id))
		}
	})
}

func TestPathIsAShortestWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := genHeads(t)
		n, g := naiveOf(heads), rapidGraph(t, heads)
		for _, to := range n.known() {
			steps := map[session.ID]int{to: 1}
			for todo := []session.ID{to}; len(todo) > 0; todo = todo[1:] {
				for _, p := range n[todo[0]].Lineage.Parents {
					if steps[p.ID] == 0 {
						steps[p.ID] = steps[todo[0]] + 1
						todo = append(todo, p.ID)
					}
				}
			}
			for _, from := range n.known() {
				path := g.Path(from, to)
				equal(t, "length", steps[from], len(path))
				for i := 1; i < len(path); i++ {
					isNext := func(p Parent) bool { return p.ID == path[i-1] }
					if !slices.ContainsFunc(g.Parents(path[i]), isNext) {
						t.Fatalf("%s is no parent of %s", path[i-1], path[i])
					}
				}
			}
		}
	})
}

func TestCommonAncestorIsTheDeepest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := genHeads(t)
		n, g := naiveOf(heads), rapidGraph(t, heads)
		ids := n.known()
		for _, a := range ids {
			for _, b := range ids {
				var want session.ID
				found := false
				above := n.ancestors(a)
				for _, c := range sorted(maps.Keys(n.ancestors(b))) {
					if above[c] && n.here(c) && (!found || n.depth(c) >= n.depth(want)) {
						want, found = c, true
					}
				}
				got, ok := g.CommonAncestor(a, b)
				equal(t, "common ancestor", fmt.Sprint(want, found), fmt.Sprint(got, ok))
			}
		}
	})
}

// TestCommonAncestorIsTheSessions compares with sessions in memory.
func TestCommonAncestorIsTheSessions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []session.Session{session.FromUser("a"), session.FromUser("b")}
		pick := func() session.Session { return rapid.SampledFrom(all).Draw(t, "session") }
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			next := pick().Fork()
			switch rapid.IntRange(0, 2).Draw(t, "op") {
			case 0:
				next, _ = session.Concat(pick(), pick())
			case 1:
				next = pick().Append(session.User(session.Text("x")))
			}
			all = append(all, next)
		}
		g := Of(all...)
		for _, a := range all {
			for _, b := range all {
				want, wantOK := session.CommonAncestor(a, b)
				got, ok := g.CommonAncestor(a.ID(), b.ID())
				if ok != wantOK || got != want.ID() {
					t.Fatalf("common ancestor of %s and %s: %s, want %s", a.ID(), b.ID(), got, want.ID())
				}
			}
			equal(t, "total", a.Total(), g.Totals(a.ID()).Usage)
		}
	})
}

func TestTotalsCountOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := genHeads(t)
		n, g := naiveOf(heads), rapidGraph(t, heads)
		sums := g.cumulative()
		total := func(ids ...session.ID) (want Total) {
			all := map[session.ID]bool{}
			for _, id := range ids {
				maps.Copy(all, n.ancestors(id))
			}
			for id := range all {
				if !n.here(id) {
					want.Absent++
					continue
				}
				want.Sessions++
				want.Usage = want.Usage.Add(n[id].Usage)
			}
			return want
		}
		for i, h := range g.heads {
			equal(t, "cumulative", total(h.ID).Usage, sums[i])
			equal(t, "totals of one", total(h.ID), g.Totals(h.ID))
		}
		ids := n.known()
		equal(t, "totals", total(ids...), g.Totals(append(ids, ids...)...))
		equal(t, "totals", g.Totals(slices.Collect(g.Leaves())...), g.total())
	})
}

func TestFilterKeepsLineage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := genHeads(t)
		n, g := naiveOf(heads), rapidGraph(t, heads)
		f := Filter{
			Run:  rapid.SampledFrom([]string{"", "a"}).Draw(t, "only run"),
			Path: rapid.SampledFrom([]string{"", "a"}).Draw(t, "only path"),
			Op:   session.Op(rapid.IntRange(0, 4).Draw(t, "only op")),
		}
		filtered := g.Filter(f)
		kept := func(id session.ID) bool { return !n.here(id) || f.Match(n[id]) }
		var nearest func(id session.ID) map[session.ID]bool
		nearest = func(id session.ID) map[session.ID]bool {
			out := map[session.ID]bool{}
			for _, p := range n[id].Lineage.Parents {
				if kept(p.ID) {
					out[p.ID] = true
				} else {
					maps.Copy(out, nearest(p.ID))
				}
			}
			return out
		}
		count := 0
		for id, h := range n {
			_, ok := filtered.Head(id)
			equal(t, "kept", f.Match(h), ok)
			if !ok {
				continue
			}
			count++
			var got []session.ID
			for _, p := range filtered.Parents(id) {
				got = append(got, p.ID)
				direct := slices.ContainsFunc(h.Lineage.Parents, func(q session.Parent) bool { return q.ID == p.ID })
				equal(t, "elided", !direct, p.Elided)
			}
			equal(t, "parents", sorted(maps.Keys(nearest(id))), sorted(slices.Values(got)))
		}
		equal(t, "sessions", count, filtered.Len())
	})
}

func checkLayout(t *rapid.T, g *Graph) {
	l := g.Layout()
	row := map[session.ID]int{}
	for i, r := range l.Rows {
		if r.Lane < 0 || r.Lane >= l.Lanes {
			t.Fatalf("row %d is in lane %d of %d", i, r.Lane, l.Lanes)
		}
		_, here := g.Head(r.ID)
		equal(t, "absent", !here, r.Absent)
		row[r.ID] = i
	}
	equal(t, "rows", len(g.heads), len(row))
	edges := []Edge{}
	for child, r := range l.Rows {
		for _, p := range g.Parents(r.ID) {
			edges = append(edges, Edge{child, row[p.ID], p.Role, p.Elided})
		}
	}
	equal(t, "edges", edges, append([]Edge{}, l.Edges...))
	type place struct{ row, lane int }
	leads := map[place]int{}
	for _, e := range l.Edges {
		if e.Child >= e.Parent {
			t.Fatalf("an edge leads up, from row %d to %d", e.Child, e.Parent)
		}
		for r := e.Child + 1; r < e.Parent; r++ {
			at := place{r, l.Rows[e.Parent].Lane}
			if to, ok := leads[at]; ok && to != e.Parent {
				t.Fatalf("lane %d leads past row %d to both %d and %d", at.lane, r, to, e.Parent)
			}
			leads[at] = e.Parent
			if l.Rows[r].Lane == at.lane {
				t.Fatalf("row %d stands in the way to %d", r, e.Parent)
			}
		}
	}
}

func TestLayoutDrawsEveryEdge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapidGraph(t, genHeads(t))
		checkLayout(t, g)
		checkLayout(t, g.Filter(Filter{Path: "a"}))
	})
}

var sessionLine = regexp.MustCompile(`(?m)^[ |:+]*[*o][ |:+]* ([0-9a-f]{8})  `)

// TestTextShowsEverySession: each on one line of its own, as narrow as one likes.
func TestTextShowsEverySession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapidGraph(t, genHeads(t))
		opts := &Options{Lanes: rapid.IntRange(0, 4).Draw(t, "lanes")}
		var b bytes.Buffer
		if err := g.WriteText(&b, opts); err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, found := range sessionLine.FindAllStringSubmatch(b.String(), -1) {
			shown = append(shown, found[1])
		}
		var want []string
		for _, r := range g.Layout().Rows {
			want = append(want, r.ID.String()[:8])
		}
		equal(t, "lines", want, shown)
		colored := bytes.Buffer{}
		opts.Color = true
		if err := g.WriteText(&colored, opts); err != nil {
			t.Fatal(err)
		}
		equal(t, "without colors", b.String(), sgr.ReplaceAllString(colored.String(), ""))
	})
}

// readEdges reads a drawing as a person would, given the lane of each session.
func readEdges(drawing string) (edges [][2]int) {
	var waiting [][2]int // a child and the lane of its parent
	row, own := -1, 0
	straight, direct := false, true // does the last session's lane go on, is it on the line above
	for line := range strings.Lines(drawing) {
		line, _, session := strings.Cut(strings.TrimSuffix(line, "\n"), " 0") // ids begin so
		line += strings.Repeat(" ", 200)
		if !session || direct {
			straight = line[2*own] != ' '
		}
		if direct = session; !session {
			for i, c := range line {
				switch c {
				case '\\':
					waiting = append(waiting, [2]int{row, (i + 1) / 2})
				case '/':
					for i > 1 && line[i-2] == '_' {
						i -= 2
					}
					waiting = append(waiting, [2]int{row, (i - 1) / 2})
				}
			}
			continue
		}
		if straight && row >= 0 {
			waiting = append(waiting, [2]int{row, own})
		}
		row++
		own = strings.IndexAny(line, "*o") / 2
		left := waiting[:0]
		for _, w := range waiting {
			if w[1] == own {
				edges = append(edges, [2]int{w[0], row})
			} else {
				left = append(left, w)
			}
		}
		waiting = left
	}
	return edges
}

// TestTextCanBeRead: the drawing has the edges of the graph, and no others.
func TestTextCanBeRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := genHeads(t)
		for i := range heads { // no ids below zero: see readEdges
			for j := range heads[i].Lineage.Parents {
				heads[i].Lineage.Parents[j].ID[0] = 0
			}
		}
		g := rapidGraph(t, heads)
		var b bytes.Buffer
		if err := g.WriteText(&b, nil); err != nil {
			t.Fatal(err)
		}
		want := [][2]int{}
		for _, e := range g.Layout().Edges {
			want = append(want, [2]int{e.Child, e.Parent})
		}
		got := append([][2]int{}, readEdges(b.String())...)
		byRows := func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }
		slices.SortFunc(want, byRows)
		slices.SortFunc(got, byRows)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", diff, &b)
		}
	})
}

func TestJSONReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapidGraph(t, genHeads(t))
		var first, second bytes.Buffer
		if err := g.WriteJSON(&first, nil); err != nil {
			t.Fatal(err)
		}
		var j JSON
		if err := json.Unmarshal(first.Bytes(), &j); err != nil {
			t.Fatal(err)
		}
		if err := rapidGraph(t, j.Nodes).WriteJSON(&second, nil); err != nil {
			t.Fatal(err)
		}
		equal(t, "JSON", first.String(), second.String())
		equal(t, "totals", g.total(), j.Totals)
	})
}
