package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openrath-go/rath/session"
)

// CycleError names sessions that are their own ancestors: each is a parent of the next,
// and the last of the first.
type CycleError struct{ IDs []session.ID }

func (e *CycleError) Error() string {
	var ids strings.Builder
	for _, id := range e.IDs {
		fmt.Fprintf(&ids, "%s -> ", id)
	}
	return fmt.Sprintf("sessions are their own ancestors: %s%s", &ids, e.IDs[0])
}

// Check reports whether the graph is what a lineage must be, without cycles, and returns
// a [*CycleError] if not. What is asked of a graph with a cycle ends all the same; edges
// that go against the order are not drawn.
func (g *Graph) Check() error {
	if g.cycle == nil {
		return nil
	}
	return &CycleError{slices.Clone(g.cycle)}
}

// findCycle returns nodes of which each is a parent of the next, and the last of the
// first. Each node of rest has a child there: going from child to child must come round.
func findCycle(b *builder, rest []int32) []int32 {
	child := make([]int32, len(b.heads))
	for _, i := range rest {
		for _, l := range b.parents(i) {
			child[l.node] = i
		}
	}
	at := rest[0]
	for seen := newBits(len(b.heads)); !seen.has(at); at = child[at] {
		seen.set(at)
	}
	cycle := []int32{at}
	for next := child[at]; next != at; next = child[next] {
		cycle = append(cycle, next)
	}
	return cycle
}
