package session

import (
	"container/heap"
	"iter"
	"slices"
	"time"
)

// Op says which operation made a session.
type Op uint8

// The operations.
const (
	OpUnknown Op = iota
	OpLeaf
	OpAppend
	OpFork
	OpDetach
	OpMerge
	OpForward
	OpCompress
	OpImport
	OpReplay
)

var ops = [...]string{"unknown", "leaf", "append", "fork", "detach", "merge", "forward", "compress", "import", "replay"}

// String returns the operation's name on the wire.
func (o Op) String() string { return name(ops[:], int(o)) }

// MarshalText implements [encoding.TextMarshaler].
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads a name; one it does not know is OpUnknown, because a newer
// program may have written it.
func (o *Op) UnmarshalText(text []byte) error {
	*o = OpUnknown
	_ = parse(o, ops[:], text, "op")
	return nil
}

// Role says what a parent was to its child.
type Role string

// The roles of a parent. Others may be used.
const (
	RoleInput  Role = "input"
	RolePrompt Role = "prompt"
	RoleBranch Role = "branch"
)

// Parent is a session's link to one that it was made from.
type Parent struct {
	ID   ID   `json:"id"`
	Role Role `json:"role"`
}

// Extra is a note on how a session was made, as OpenRath's lineage extras.
type Extra struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Lineage says how a session came about.
type Lineage struct {
	Op      Op        `json:"op"`
	Parents []Parent  `json:"parents,omitempty"`
	Path    string    `json:"path,omitempty"` // the workflow that made it: "review/draft"
	Run     string    `json:"run,omitempty"`
	Time    time.Time `json:"time,omitzero"` // zero for what is the same at any time, as prompts are
	Extras  []Extra   `json:"extras,omitempty"`
}

// Lineage returns a copy of the session's lineage.
func (s Session) Lineage() Lineage {
	n := s.get()
	l := Lineage{Op: n.op, Time: n.time()}
	for _, e := range n.parents {
		l.Parents = append(l.Parents, Parent{e.node.id, e.role})
	}
	if n.origin != nil {
		l.Path, l.Run, l.Extras = n.origin.path, n.origin.run, slices.Clone(n.origin.extras)
	}
	return l
}

// Parents returns the parents that are in memory. A session read from a file knows
// the ids of its parents, in [Lineage], and not necessarily the parents.
func (s Session) Parents() []Session {
	var out []Session
	for _, e := range s.get().parents {
		if !e.node.absent {
			out = append(out, Session{e.node})
		}
	}
	return out
}

// Ancestors yields every ancestor in memory once, children before their parents. It
// does not recurse, whatever the depth.
func (s Session) Ancestors() iter.Seq[Session] {
	return func(yield func(Session) bool) {
		q := frontier{}
		seen := map[ID]bool{}
		for n := s.get(); ; n = heap.Pop(&q).(*node) {
			if n != s.get() && !n.absent && !yield(Session{n}) {
				return
			}
			for _, e := range n.parents {
				if !seen[e.node.id] {
					seen[e.node.id] = true
					heap.Push(&q, e.node)
				}
			}
			if len(q) == 0 {
				return
			}
		}
	}
}

// CommonAncestor returns the nearest session that both come from, one of the two
// themselves included. It costs in proportion to the steps since then.
func CommonAncestor(a, b Session) (Session, bool) {
	const both = 3
	q := frontier{}
	sides := map[ID]uint8{}
	visit := func(n *node, side uint8) {
		if _, ok := sides[n.id]; !ok {
			heap.Push(&q, n)
		}
		sides[n.id] |= side
	}
	visit(a.get(), 1)
	visit(b.get(), 2)
	for len(q) > 0 {
		n := heap.Pop(&q).(*node)
		side := sides[n.id]
		if side == both && !n.absent {
			return Session{n}, true
		}
		for _, e := range n.parents {
			visit(e.node, side)
		}
	}
	return Session{}, false
}

// frontier is a heap of nodes, the furthest from the leaves first: with it a node is
// taken only after all its descendants.
type frontier []*node

func (q frontier) Len() int { return len(q) }
func (q frontier) Less(i, j int) bool {
	a, b := q[i], q[j]
	if a.depth != b.depth {
		return a.depth > b.depth
	}
	return slices.Compare(a.id[:], b.id[:]) > 0
}
func (q frontier) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *frontier) Push(n any)   { *q = append(*q, n.(*node)) }
func (q *frontier) Pop() any {
	last := len(*q) - 1
	n := (*q)[last]
	*q = (*q)[:last]
	return n
}
