package graph

import (
	"bytes"
	"container/heap"
	"iter"
	"slices"

	"github.com/openrath-go/rath/session"
)

// Ancestors yields what a session comes from, itself left out: each once, children
// before their parents, absent ones too.
func (g *Graph) Ancestors(id session.ID) iter.Seq[session.ID] {
	return func(yield func(session.ID) bool) {
		i, ok := g.index[id]
		if !ok {
			return
		}
		for a := range g.lineage(i).down() {
			if a != i && !yield(g.heads[a].ID) {
				return
			}
		}
	}
}

// Descendants yields what came from a session, itself left out: each once, parents
// before their children.
func (g *Graph) Descendants(id session.ID) iter.Seq[session.ID] {
	return func(yield func(session.ID) bool) {
		i, ok := g.index[id]
		if !ok {
			return
		}
		for d := range g.offspring(i).up() {
			if d != i && !yield(g.heads[d].ID) {
				return
			}
		}
	}
}

// lineage returns the nodes and all their ancestors.
func (g *Graph) lineage(nodes ...int32) bits {
	seen := newBits(len(g.heads))
	for todo := slices.Clone(nodes); len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen.has(i) {
			continue
		}
		seen.set(i)
		for _, l := range g.parents(i) {
			if !seen.has(l.node) {
				todo = append(todo, l.node)
			}
		}
	}
	return seen
}

// offspring returns the node and all its descendants.
func (g *Graph) offspring(i int32) bits {
	seen := newBits(len(g.heads))
	for todo := []int32{i}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen.has(i) {
			continue
		}
		seen.set(i)
		for _, c := range g.children(i) {
			if !seen.has(c) {
				todo = append(todo, c)
			}
		}
	}
	return seen
}

// CommonAncestor returns the nearest session that both come from, one of the two
// themselves included: of all of them, the one with the longest way to its roots, as
// [session.CommonAncestor]. It costs in proportion to the steps since then.
func (g *Graph) CommonAncestor(a, b session.ID) (session.ID, bool) {
	i, okA := g.index[a]
	j, okB := g.index[b]
	if !okA || !okB {
		return session.ID{}, false
	}
	const both = 3
	q := frontier{g: g}
	sides := map[int32]uint8{}
	visit := func(n int32, side uint8) {
		if _, ok := sides[n]; !ok {
			heap.Push(&q, n)
		}
		sides[n] |= side
	}
	visit(i, 1)
	visit(j, 2)
	for len(q.nodes) > 0 {
		n := heap.Pop(&q).(int32)
		side := sides[n]
		if side == both && !g.absent.has(n) {
			return g.heads[n].ID, true
		}
		for _, l := range g.parents(n) {
			visit(l.node, side)
		}
	}
	return session.ID{}, false
}

// frontier is a heap of nodes, the deepest first: with it a node is taken only after all
// its descendants.
type frontier struct {
	g     *Graph
	nodes []int32
}

func (q frontier) Len() int { return len(q.nodes) }
func (q frontier) Less(i, j int) bool {
	a, b := q.nodes[i], q.nodes[j]
	if q.g.depth[a] != q.g.depth[b] {
		return q.g.depth[a] > q.g.depth[b]
	}
	return bytes.Compare(q.g.heads[a].ID[:], q.g.heads[b].ID[:]) > 0
}
func (q frontier) Swap(i, j int) { q.nodes[i], q.nodes[j] = q.nodes[j], q.nodes[i] }
func (q *frontier) Push(n any)   { q.nodes = append(q.nodes, n.(int32)) }
func (q *frontier) Pop() any {
	last := len(q.nodes) - 1
	n := q.nodes[last]
	q.nodes = q.nodes[:last]
	return n
}

// Path returns a shortest way down the lineage: from, each a parent of the next, to. It
// is nil if to does not come from from; from one session to itself it is that session.
func (g *Graph) Path(from, to session.ID) []session.ID {
	start, okA := g.index[from]
	end, okB := g.index[to]
	if !okA || !okB {
		return nil
	}
	child := map[int32]int32{end: end} // on the way to end
	for todo := []int32{end}; len(todo) > 0; todo = todo[1:] {
		if todo[0] == start {
			return g.follow(child, start, end)
		}
		for _, l := range g.parents(todo[0]) {
			if _, ok := child[l.node]; !ok {
				child[l.node] = todo[0]
				todo = append(todo, l.node)
			}
		}
	}
	return nil
}

func (g *Graph) follow(child map[int32]int32, start, end int32) []session.ID {
	ids := []session.ID{g.heads[start].ID}
	for i := start; i != end; {
		i = child[i]
		ids = append(ids, g.heads[i].ID)
	}
	return ids
}
