package graph

import "github.com/openrath-go/rath/session"

// Total is what sessions cost together with all that they come from.
type Total struct {
	Usage    session.Usage `json:"usage"`
	Sessions int           `json:"sessions"` // how many were summed
	Absent   int           `json:"absent"`   // how many more there were, whose usage is not known
}

// Totals sums the usage of sessions and of all their ancestors, each counted once. A
// price that is not known stays so: see [session.Cost]. No ids cost nothing; for the
// whole graph, give those of [Graph.Leaves].
func (g *Graph) Totals(ids ...session.ID) Total {
	var nodes []int32
	for _, id := range ids {
		if i, ok := g.index[id]; ok {
			nodes = append(nodes, i)
		}
	}
	var t Total
	for i := range g.lineage(nodes...).up() {
		t.add(g, i)
	}
	return t
}

// total sums the whole graph.
func (g *Graph) total() (t Total) {
	for i := range int32(len(g.heads)) {
		t.add(g, i)
	}
	return t
}

func (t *Total) add(g *Graph, i int32) {
	if g.absent.has(i) {
		t.Absent++
		return
	}
	t.Sessions++
	t.Usage = t.Usage.Add(g.heads[i].Usage)
}

// cumulative returns for every node what it and its ancestors cost. A node adds to the
// total of the nearest one that all its ways lead through, so that each sum costs in
// proportion to the steps since then: one for a chain, the branches for a merge of forks.
func (g *Graph) cumulative() []session.Usage {
	sums := make([]session.Usage, len(g.heads))
	ways := newBits(len(g.heads))
	for i := range int32(len(g.heads)) {
		sums[i] = g.sum(i, sums, ways)
	}
	return sums
}

// sum walks up from i, the greatest number first, so that a node is taken only after all
// its descendants: a node that is the only one left is on every way. It borrows ways,
// which is empty.
func (g *Graph) sum(i int32, sums []session.Usage, ways bits) session.Usage {
	sum, open := g.heads[i].Usage, 0
	visit := func(links []link) {
		for _, l := range links {
			// What cost nothing altogether, as prompts, adds nothing.
			if l.node < i && !ways.has(l.node) && sums[l.node] != (session.Usage{}) {
				ways.set(l.node)
				open++
			}
		}
	}
	visit(g.parents(i))
	for at := i; open > 0; open-- {
		at = ways.below(at)
		ways.clear(at)
		if open == 1 {
			return sum.Add(sums[at])
		}
		sum = sum.Add(g.heads[at].Usage)
		visit(g.parents(at))
	}
	return sum
}
