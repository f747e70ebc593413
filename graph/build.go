package graph

import (
	"slices"

	"github.com/openrath-go/rath/session"
)

// builder collects nodes and links, numbered as they come, the absent ones last.
type builder struct {
	heads   []session.Head
	count   int // of heads that are not absent
	index   map[session.ID]int32
	child   []int32 // of each node, the last that was linked to it
	up      []link
	upStart []int32
}

func (b *builder) add(h session.Head) bool {
	if _, ok := b.index[h.ID]; ok {
		return false
	}
	b.index[h.ID] = int32(len(b.heads))
	b.heads = append(b.heads, h)
	b.child = append(b.child, -1)
	return true
}

// linkLineage links every head to the parents that its lineage names.
func (b *builder) linkLineage() {
	b.count = len(b.heads)
	for i := range b.count {
		b.begin()
		for _, p := range b.heads[i].Lineage.Parents {
			b.link(p.ID, link{role: p.Role})
		}
	}
}

// begin turns to the links of the next head.
func (b *builder) begin() { b.upStart = append(b.upStart, int32(len(b.up))) }

// link gives the head a parent, unless it has that one already.
func (b *builder) link(id session.ID, l link) {
	b.add(session.Head{ID: id}) // absent, if it is new
	l.node = b.index[id]
	if child := int32(len(b.upStart) - 1); b.child[l.node] != child {
		b.child[l.node] = child
		b.up = append(b.up, l)
	}
}

func (b *builder) parents(i int32) []link { return b.up[b.upStart[i]:b.upStart[i+1]] }

// graph numbers the nodes in topological order.
func (b *builder) graph() *Graph {
	n := len(b.heads)
	for len(b.upStart) <= n {
		b.begin() // of the absent ones, and the end
	}
	order, cycle := newestFirst(b)
	number := make([]int32, n)
	g := &Graph{heads: make([]session.Head, n), absent: newBits(n), count: b.count, index: b.index}
	for row, old := range order {
		i := int32(n - 1 - row)
		number[old] = i
		g.heads[i] = b.heads[old]
		g.index[b.heads[old].ID] = i
		if int(old) >= b.count {
			g.absent.set(i)
		}
	}
	for _, i := range cycle {
		g.cycle = append(g.cycle, b.heads[i].ID)
	}
	slices.Reverse(order)
	g.linkUp(b, order, number)
	g.down, g.downStart = linkDown(n, g.parents)
	g.measure()
	return g
}

func (g *Graph) linkUp(b *builder, order, number []int32) {
	g.up, g.upStart = make([]link, 0, len(b.up)), make([]int32, 0, len(order)+1)
	for _, old := range order {
		g.upStart = append(g.upStart, int32(len(g.up)))
		for _, l := range b.parents(old) {
			l.node = number[l.node]
			g.up = append(g.up, l)
		}
	}
	g.upStart = append(g.upStart, int32(len(g.up)))
}

// linkDown turns the links of n nodes round, by counting.
func linkDown(n int, parents func(int32) []link) (children, start []int32) {
	start = make([]int32, n+1)
	for i := range int32(n) {
		for _, l := range parents(i) {
			start[l.node+1]++
		}
	}
	for i := range n {
		start[i+1] += start[i]
	}
	children = make([]int32, start[n])
	next := slices.Clone(start)
	for i := range int32(n) {
		for _, l := range parents(i) {
			children[next[l.node]] = i
			next[l.node]++
		}
	}
	return children, start
}

func (g *Graph) measure() {
	g.depth = make([]int32, len(g.heads))
	for i := range int32(len(g.heads)) {
		for _, l := range g.parents(i) {
			g.depth[i] = max(g.depth[i], g.depth[l.node]+1)
		}
	}
}
