package graph

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/session"
)

func TestNewRefuses(t *testing.T) {
	broken := errors.New("broken")
	fails := func(yield func(session.Head, error) bool) { _ = yield(head(1), nil) && yield(session.Head{}, broken) }
	for _, test := range []struct {
		name  string
		heads iter.Seq2[session.Head, error]
		want  error
		text  string
	}{
		{"a duplicate", each(head(1), head(2, 1), head(1)), ErrDuplicate, id(1).String()},
		{"what the heads refuse", fails, broken, "build session graph: broken"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, err := New(test.heads)
			if g != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v, %v", g, err)
			}
		})
	}
}

func TestZeroAndUnknown(t *testing.T) {
	for name, g := range map[string]*Graph{"zero": {}, "empty": build(t), "chain": build(t, chain(3)...), "of nothing": Of(session.Session{})} {
		t.Run(name, func(t *testing.T) {
			none := id(999)
			if _, ok := g.Head(none); ok {
				t.Error("there is a head")
			}
			if _, ok := g.CommonAncestor(none, none); ok {
				t.Error("there is a common ancestor")
			}
			got := []any{g.Parents(none), g.Children(none), g.Path(none, none), slices.Collect(g.Ancestors(none)), slices.Collect(g.Descendants(none)), g.Totals(none), g.Totals()}
			want := []any{[]Parent(nil), []session.ID(nil), []session.ID(nil), []session.ID(nil), []session.ID(nil), Total{}, Total{}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParents(t *testing.T) {
	h := head(3, 1, 2, 1) // twice the same is one
	h.Lineage.Parents[1].Role = session.RolePrompt
	g := build(t, h, head(1))
	want := []Parent{{ID: id(1), Role: session.RoleInput}, {ID: id(2), Role: session.RolePrompt}}
	if diff := cmp.Diff(want, g.Parents(id(3))); diff != "" {
		t.Error(diff)
	}
	if g.Len() != 2 || !slices.Equal(slices.Collect(g.Absent()), []session.ID{id(2)}) || !slices.Equal(g.Children(id(2)), []session.ID{id(3)}) {
		t.Errorf("%d sessions, absent: %v, children: %v", g.Len(), slices.Collect(g.Absent()), g.Children(id(2)))
	}
	if got := g.Totals(id(3)); got.Sessions != 2 || got.Absent != 1 {
		t.Errorf("%+v", got)
	}
}

func TestUnknownPriceStaysUnknown(t *testing.T) {
	g := build(t, review()...)
	leaves := slices.Collect(g.Leaves())
	got := g.Totals(leaves...)
	if got.Usage.Cost.Known() || got.Usage.Cost.Unpriced != 2 || got.Usage.Unreported != 1 || got.Sessions != 14 || got.Absent != 1 {
		t.Errorf("%+v", got)
	}
	if draft := g.Totals(id(4 << 8)); !draft.Usage.Cost.Known() {
		t.Errorf("%+v", draft)
	}
}

func TestCycles(t *testing.T) {
	for _, test := range []struct {
		name  string
		heads []session.Head
		want  []session.ID // from the least on
	}{
		{"none", []session.Head{head(1), head(2, 1), head(3, 1), head(4, 2, 3)}, nil},
		{"itself", []session.Head{head(1), head(2, 1, 2)}, []session.ID{id(2)}},
		{"two", []session.Head{head(1, 2), head(2, 1), head(3, 2)}, []session.ID{id(1), id(2)}},
		{"three below and above others", []session.Head{head(0), head(1, 0, 3), head(2, 1), head(3, 2), head(4, 3), head(5, 4)}, []session.ID{id(1), id(2), id(3)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := build(t, test.heads...)
			var got []session.ID
			if cycle := (*CycleError)(nil); errors.As(g.Check(), &cycle) {
				got = cycle.IDs
				least := slices.IndexFunc(got, func(id session.ID) bool { return id == test.want[0] })
				got = append(slices.Clone(got[least:]), got[:least]...)
				for _, id := range got {
					if !strings.Contains(cycle.Error(), id.String()) {
						t.Errorf("%q does not name %s", cycle, id)
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			endsAll(t, g)
		})
	}
}

// endsAll asks everything of a graph.
func endsAll(t *testing.T, g *Graph) {
	t.Helper()
	all := slices.Collect(g.Topological())
	if len(all) != g.Len() {
		t.Errorf("the order has %d of %d sessions", len(all), g.Len())
	}
	for _, a := range []session.ID{all[0], all[len(all)-1]} {
		for range g.Ancestors(a) {
		}
		for range g.Descendants(a) {
		}
		g.Path(a, all[0])
		g.CommonAncestor(a, all[0])
		g.Totals(a)
	}
	g.Filter(Filter{Since: at(2)})
	for _, w := range writers {
		if g.Len() > 1000 && w.file != "txt" && w.file != "jsonl" {
			continue // they write node by node
		}
		if err := w.write(g, io.Discard, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestLargeGraphs: deep and wide ones, with little stack.
func TestLargeGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	const n = 100_000
	for name, heads := range map[string][]session.Head{"chain": chain(n), "star": star(n / 10), "fan": fan(n), "history": history(n / 5)} {
		t.Run(name, func(t *testing.T) {
			g := build(t, heads...)
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			if lanes := g.Layout().Lanes; name != "fan" && lanes > 10 {
				t.Errorf("%d lanes", lanes)
			}
			endsAll(t, g)
		})
	}
	t.Run("ring", func(t *testing.T) {
		g := build(t, append(chain(n / 5)[1:], head(0, n/5-1))...)
		var cycle *CycleError
		if !errors.As(g.Check(), &cycle) || len(cycle.IDs) != n/5 {
			t.Error("the ring was not found")
		}
		endsAll(t, g)
	})
}

func TestFilter(t *testing.T) {
	g := build(t, review()...)
	for _, test := range []struct {
		name string
		f    Filter
		want int
	}{
		{"nothing", Filter{}, 14},
		{"run", Filter{Run: "tuesday"}, 2},
		{"path above", Filter{Path: "review/checks"}, 3},
		{"path", Filter{Path: "review/edit"}, 2},
		{"no part of a name", Filter{Path: "review/check"}, 0},
		{"op", Filter{Op: session.OpFork}, 4},
		{"time", Filter{Since: at(3), Until: at(5)}, 2},
		{"all of it", Filter{Run: "monday", Op: session.OpForward, Path: "review", Since: at(9)}, 3},
		{"no match", Filter{Since: at(99 + int(time.Hour/time.Second))}, 0},
	} {
		if got := g.Filter(test.f).Len(); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestOf(t *testing.T) {
	base := session.FromUser("a")
	a, b := base.Fork(), base.Fork()
	merged, err := session.Merge(a, b)
	if err != nil {
		t.Fatal(err)
	}
	g := Of(merged, b, session.Session{})
	if g.Len() != 4 || !slices.Equal(g.Path(base.ID(), merged.ID()), []session.ID{base.ID(), a.ID(), merged.ID()}) {
		t.Errorf("%d sessions, %v", g.Len(), g.Path(base.ID(), merged.ID()))
	}
	read := session.Restore(merged.Record())
	if g := Of(read); g.Len() != 1 || len(slices.Collect(g.Absent())) != 2 {
		t.Errorf("%d sessions, absent: %v", g.Len(), slices.Collect(g.Absent()))
	}
}

func TestStopEarly(t *testing.T) {
	g := build(t, review()...)
	for _, seq := range []iter.Seq[session.ID]{
		g.Ancestors(id(14 << 8)), g.Descendants(id(1 << 8)), g.Topological(), g.Roots(), g.Leaves(), g.Absent(),
	} {
		n := 0
		for range seq {
			n++
			break
		}
		if n != 1 {
			t.Error("nothing came")
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	g := build(t, history(200)...)
	want := written(t, g, (*Graph).WriteSVG, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var b bytes.Buffer
			_ = g.WriteSVG(&b, nil)
			g.Totals(id(150))
			g.CommonAncestor(id(150), id(140))
			if b.String() != want {
				t.Error("drawings differ")
			}
		})
	}
	wg.Wait()
}
