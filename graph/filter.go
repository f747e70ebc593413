package graph

import (
	"strings"
	"time"

	"github.com/openrath-go/rath/session"
)

// Filter chooses sessions. All that is set must hold; the zero Filter is every session.
type Filter struct {
	Run          string
	Path         string // the workflow that made it, or one above that
	Op           session.Op
	Since, Until time.Time // made at Since or later, before Until
}

// Match reports whether the filter chooses a session.
func (f Filter) Match(h session.Head) bool {
	l := h.Lineage
	return (f.Run == "" || l.Run == f.Run) &&
		(f.Path == "" || l.Path == f.Path || strings.HasPrefix(l.Path, f.Path+"/")) &&
		(f.Op == session.OpUnknown || l.Op == f.Op) &&
		(f.Since.IsZero() || !l.Time.Before(f.Since)) &&
		(f.Until.IsZero() || l.Time.Before(f.Until))
}

// Filter returns the graph of the sessions that f chooses. Lineage is kept: where a
// session's parent is taken out, it is linked to the nearest ancestors that are left, or
// absent, and these links are marked [Parent.Elided]. Totals are those of the sessions
// that are left. Heads keep their recorded lineage.
//
// Where many ways meet in sessions that are taken out and part again, each above is
// linked to each below.
func (g *Graph) Filter(f Filter) *Graph {
	keep := newBits(len(g.heads))
	b := builder{index: map[session.ID]int32{}}
	for i := range int32(len(g.heads)) {
		if g.absent.has(i) {
			keep.set(i)
		} else if f.Match(g.heads[i]) {
			keep.set(i)
			b.add(g.heads[i])
		}
	}
	b.count = len(b.heads)
	near := g.nearest(keep)
	for i := range keep.up() {
		if g.absent.has(i) {
			continue
		}
		b.begin()
		for _, l := range g.parents(i) { // the direct ones first: they are not elided
			if keep.has(l.node) {
				b.link(g.heads[l.node].ID, l)
			}
		}
		for _, l := range g.parents(i) {
			for _, n := range near[l.node] {
				b.link(g.heads[n].ID, link{role: l.role, elided: true})
			}
		}
	}
	return b.graph()
}

// nearest returns for every node that is not kept its nearest ancestors that are.
func (g *Graph) nearest(keep bits) [][]int32 {
	near := make([][]int32, len(g.heads))
	found := make([]int32, len(g.heads)) // by whom, counted from 1
	for i := range int32(len(g.heads)) {
		links := g.parents(i)
		switch {
		case keep.has(i):
		case len(links) == 1 && !keep.has(links[0].node):
			near[i] = near[links[0].node] // chains share one list
		default:
			near[i] = g.above(i, near, keep, found)
		}
	}
	return near
}

func (g *Graph) above(i int32, near [][]int32, keep bits, found []int32) (out []int32) {
	add := func(n int32) {
		if found[n] != i+1 {
			found[n] = i + 1
			out = append(out, n)
		}
	}
	for _, l := range g.parents(i) {
		if keep.has(l.node) {
			add(l.node)
		}
		for _, n := range near[l.node] {
			add(n)
		}
	}
	return out
}
