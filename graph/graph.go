package graph

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/openrath-go/rath/session"
)

// Graph is the lineage of sessions. It is immutable and safe for concurrent use. The
// zero Graph is empty.
//
// Ids that it does not know have no parents, no children, no ancestors and cost nothing.
type Graph struct {
	// Nodes are numbered in topological order: parents have lesser numbers than their
	// children, wherever there is no cycle.
	heads  []session.Head // of an absent node, only the id is set
	absent bits
	count  int // nodes that are not absent
	index  map[session.ID]int32
	depth  []int32 // longest way to a node without parents

	up        []link // to parents, those of node i from upStart[i] to upStart[i+1]
	upStart   []int32
	down      []int32 // to children, likewise
	downStart []int32

	cycle []session.ID
}

// link leads from a child to one of its parents.
type link struct {
	node   int32
	elided bool
	role   session.Role
}

// Parent is an edge of the graph, seen from the child.
type Parent struct {
	ID   session.ID
	Role session.Role
	// Elided says that [Graph.Filter] took out the sessions between the two. The role is
	// that of the first step.
	Elided bool
}

// ErrDuplicate is returned for a session that comes twice.
var ErrDuplicate = errors.New("the session comes twice")

// New builds the graph of the heads, in whatever order they come. It keeps them, so
// their slices must not be changed afterwards. It fails with the first error that heads
// yields, and with [ErrDuplicate]. It does not fail on a cycle: see [Graph.Check].
func New(heads iter.Seq2[session.Head, error]) (*Graph, error) {
	b := builder{index: map[session.ID]int32{}}
	for h, err := range heads {
		if err != nil {
			return nil, fmt.Errorf("build session graph: %w", err)
		}
		if !b.add(h) {
			return nil, fmt.Errorf("build session graph: session %s: %w", h.ID, ErrDuplicate)
		}
	}
	b.linkLineage()
	return b.graph(), nil
}

// Of builds the graph of sessions and of all their ancestors in memory. The empty
// session is no node.
func Of(sessions ...session.Session) *Graph {
	b := builder{index: map[session.ID]int32{}}
	for todo := slices.Clone(sessions); len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, ok := b.index[s.ID()]; !ok && !s.ID().IsZero() {
			b.add(s.Head())
			todo = append(todo, s.Parents()...)
		}
	}
	b.linkLineage()
	return b.graph()
}

// Len returns the number of sessions, absent ones left out.
func (g *Graph) Len() int { return g.count }

// Head returns a session's head, and whether the session is in the graph and not absent.
// Its slices are shared: read them only.
func (g *Graph) Head(id session.ID) (session.Head, bool) {
	i, ok := g.index[id]
	if !ok || g.absent.has(i) {
		return session.Head{}, false
	}
	return g.heads[i], true
}

// Parents returns what a session was made from, in the order of its lineage, absent ones
// too.
func (g *Graph) Parents(id session.ID) []Parent {
	i, ok := g.index[id]
	if !ok {
		return nil
	}
	var out []Parent
	for _, l := range g.parents(i) {
		out = append(out, Parent{g.heads[l.node].ID, l.role, l.elided})
	}
	return out
}

// Children returns what was made from a session, in topological order. An absent session
// has children, too.
func (g *Graph) Children(id session.ID) []session.ID {
	i, ok := g.index[id]
	if !ok {
		return nil
	}
	var out []session.ID
	for _, c := range g.children(i) {
		out = append(out, g.heads[c].ID)
	}
	return out
}

// Topological yields every session, parents before their children, absent ones left out.
// Lines of history stay together, as in git log --topo-order reversed, and the order
// depends on nothing but the sessions. A cycle, and what it came from, comes in the order
// of time.
func (g *Graph) Topological() iter.Seq[session.ID] {
	return g.where(func(i int32) bool { return !g.absent.has(i) })
}

// Roots yields the sessions that have no parent in the graph, in topological order.
func (g *Graph) Roots() iter.Seq[session.ID] {
	return g.where(func(i int32) bool { return !g.absent.has(i) && g.root(i) })
}

// Leaves yields the sessions that have no children, in topological order. (As in autograd,
// [session.OpLeaf] is the other end: a session that has no parents.)
func (g *Graph) Leaves() iter.Seq[session.ID] {
	return g.where(func(i int32) bool { return len(g.children(i)) == 0 })
}

// Absent yields the ids that sessions name as parents and that are not in the graph.
func (g *Graph) Absent() iter.Seq[session.ID] {
	return g.where(func(i int32) bool { return g.absent.has(i) })
}

func (g *Graph) where(is func(i int32) bool) iter.Seq[session.ID] {
	return func(yield func(session.ID) bool) {
		for i := range g.heads {
			if is(int32(i)) && !yield(g.heads[i].ID) {
				return
			}
		}
	}
}

func (g *Graph) root(i int32) bool {
	for _, l := range g.parents(i) {
		if !g.absent.has(l.node) {
			return false
		}
	}
	return true
}

func (g *Graph) parents(i int32) []link   { return g.up[g.upStart[i]:g.upStart[i+1]] }
func (g *Graph) children(i int32) []int32 { return g.down[g.downStart[i]:g.downStart[i+1]] }
