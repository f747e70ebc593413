package graph

import (
	"bytes"
	"cmp"
	"slices"
)

// sorter orders nodes for a drawing: children before their parents, the newest first,
// and what belongs together below each other, so that few lanes run at a time. For that
// it goes down the lines from their roots, the newest line first, and takes each node on
// the way back.
type sorter struct {
	*builder
	children, childStart []int32

	age     []int32 // place in the order of time
	newest  []int32 // the greatest age among a node and its descendants
	main    bits    // nodes on the line of first parents that comes from their newest
	waits   []int32 // how many of the children are not in the order yet
	next    []int32 // the child to go to
	reached bits    // nodes below the root that the sorter came from
	done    bits
	order   []int32
}

// newestFirst returns all nodes in order, and one cycle if there is any. What is on
// cycles, and what it came from, is last.
func newestFirst(b *builder) (order, cycle []int32) {
	n := len(b.heads)
	s := &sorter{
		builder: b, age: b.ages(), main: newBits(n), waits: make([]int32, n), next: make([]int32, n),
		reached: newBits(n), done: newBits(n), order: make([]int32, 0, n),
	}
	s.children, s.childStart = linkDown(n, b.parents)
	for _, root := range s.survey() {
		if !s.done.has(root) {
			s.descend(root)
		}
	}
	if len(s.order) < n {
		rest := s.rest()
		return append(s.order, rest...), findCycle(b, rest)
	}
	return s.order, nil
}

// ages returns for each node its place in the order of time.
func (b *builder) ages() []int32 {
	nodes := make([]int32, len(b.heads))
	for i := range nodes {
		nodes[i] = int32(i)
	}
	slices.SortFunc(nodes, func(i, j int32) int {
		x, y := &b.heads[i], &b.heads[j]
		return cmp.Or(x.Lineage.Time.Compare(y.Lineage.Time), bytes.Compare(x.ID[:], y.ID[:]))
	})
	ages := make([]int32, len(nodes))
	for age, i := range nodes {
		ages[i] = int32(age)
	}
	return ages
}

func (s *sorter) childrenOf(i int32) []int32 { return s.children[s.childStart[i]:s.childStart[i+1]] }

// survey goes through what no cycle leads to, children first, puts the children in order
// and returns the roots in theirs.
func (s *sorter) survey() (roots []int32) {
	s.newest = slices.Clone(s.age)
	left := make([]int32, len(s.heads))
	var todo []int32
	for i := range int32(len(s.heads)) {
		s.main.set(i)
		s.waits[i] = int32(len(s.childrenOf(i)))
		if left[i] = s.waits[i]; left[i] == 0 {
			todo = append(todo, i)
		}
	}
	for at := 0; at < len(todo); at++ {
		i := todo[at]
		slices.SortFunc(s.childrenOf(i), s.compare)
		links := s.parents(i)
		if len(links) == 0 {
			roots = append(roots, i)
		}
		for k, l := range links {
			s.trace(i, l.node, k == 0)
			if left[l.node]--; left[l.node] == 0 {
				todo = append(todo, l.node)
			}
		}
	}
	slices.SortFunc(roots, func(i, j int32) int {
		return cmp.Or(s.compareMain(i, j), s.compare(i, j))
	})
	return roots
}

// trace tells a parent of its child's newest descendant.
func (s *sorter) trace(child, parent int32, first bool) {
	if s.newest[child] > s.newest[parent] {
		s.newest[parent] = s.newest[child]
		s.main.clear(parent)
	}
	if first && s.main.has(child) && s.newest[child] == s.newest[parent] {
		s.main.set(parent)
	}
}

// compare puts newer lines first; of those that meet again, the main one, and then the
// older.
func (s *sorter) compare(i, j int32) int {
	return cmp.Or(cmp.Compare(s.newest[j], s.newest[i]), s.compareMain(i, j), cmp.Compare(s.age[i], s.age[j]))
}

func (s *sorter) compareMain(i, j int32) int {
	switch {
	case s.main.has(i) == s.main.has(j):
		return 0
	case s.main.has(i):
		return -1
	}
	return 1
}

// descend orders what comes from a root.
func (s *sorter) descend(root int32) {
	s.flood(root)
	for stack := []int32{root}; len(stack) > 0; {
		i := stack[len(stack)-1]
		children := s.childrenOf(i)
		if at := s.next[i]; int(at) < len(children) {
			s.next[i]++
			if !s.done.has(children[at]) {
				stack = append(stack, children[at])
			}
			continue
		}
		stack = stack[:len(stack)-1]
		s.take(i)
	}
}

// flood marks what comes from a root.
func (s *sorter) flood(root int32) {
	s.reached.set(root)
	for todo := []int32{root}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, c := range s.childrenOf(i) {
			if !s.reached.has(c) {
				s.reached.set(c)
				todo = append(todo, c)
			}
		}
	}
}

// take puts a node in the order, and below it what it alone is still waited for by and
// has another root: prompts, and lines that are merged into this one.
func (s *sorter) take(i int32) {
	for todo := []int32{i}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		s.order = append(s.order, i)
		s.done.set(i)
		for _, l := range slices.Backward(s.parents(i)) {
			if s.waits[l.node]--; s.waits[l.node] == 0 && !s.reached.has(l.node) {
				todo = append(todo, l.node)
			}
		}
	}
}

// rest returns the nodes that are not done, the newest first.
func (s *sorter) rest() []int32 {
	var rest []int32
	for i := range int32(len(s.heads)) {
		if !s.done.has(i) {
			rest = append(rest, i)
		}
	}
	slices.SortFunc(rest, func(i, j int32) int { return cmp.Compare(s.age[j], s.age[i]) })
	return rest
}
