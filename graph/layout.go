package graph

import (
	mathbits "math/bits"

	"github.com/openrath-go/rath/session"
)

// Layout is a drawing of a graph as data: a row for each session, children above their
// parents, and lanes that run down beside each other, as in git log --graph. The newest
// session and what it comes from in the first place begin; every other line is right
// above the session that it parts from, unless it is newer.
//
// An edge leaves its child, changes to its parent's lane before the next row, and runs
// down there to its parent. Edges in one lane at the same time lead to the same parent,
// and no other session is in their way.
type Layout struct {
	Rows  []Row
	Edges []Edge // by the row of the child, then in the order of its parents
	Lanes int    // how many there are
}

// Row is the place of a session.
type Row struct {
	ID     session.ID
	Lane   int
	Absent bool
}

// Edge leads from the row of a child down to that of a parent.
type Edge struct {
	Child, Parent int
	Role          session.Role
	Elided        bool // as [Parent.Elided]
}

// Layout lays the graph out. Absent sessions have rows as well.
func (g *Graph) Layout() *Layout {
	n := len(g.heads)
	l := &Layout{Rows: make([]Row, n), Edges: make([]Edge, 0, len(g.up))}
	var free lanes
	lane := make([]int, n) // where a node is awaited, counted from 1; 0: nowhere yet
	for row := range n {
		i := int32(n - 1 - row)
		if lane[i] == 0 {
			lane[i] = free.take()
		}
		own := lane[i]
		l.Rows[row] = Row{g.heads[i].ID, own - 1, g.absent.has(i)}
		l.Lanes = max(l.Lanes, own)
		taken := false
		for _, p := range g.parents(i) {
			if p.node >= i {
				continue // on a cycle
			}
			if lane[p.node] == 0 && !taken {
				lane[p.node], taken = own, true
			} else if lane[p.node] == 0 {
				lane[p.node] = free.take()
			}
			l.Edges = append(l.Edges, Edge{row, n - 1 - int(p.node), p.role, p.elided})
		}
		if !taken {
			free.put(own)
		}
	}
	return l
}

// lanes gives out numbers from 1, the least that is free.
type lanes struct {
	free  bits
	first int // no word before it has a free lane
}

func (f *lanes) take() int {
	for f.first < len(f.free) && f.free[f.first] == 0 {
		f.first++
	}
	if f.first == len(f.free) {
		f.free = append(f.free, ^uint64(0))
	}
	word := f.free[f.first]
	f.free[f.first] = word & (word - 1)
	return f.first<<6 + mathbits.TrailingZeros64(word) + 1
}

func (f *lanes) put(lane int) {
	f.free.set(int32(lane - 1))
	f.first = min(f.first, (lane-1)>>6)
}
