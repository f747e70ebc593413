package session

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/openrath-go/rath/sandbox"
)

// MarkKey is the lineage extra that has a [Mark].
const MarkKey = "workspace.snapshot"

// Mark says what the files of the workspace were after the first Len chunks.
type Mark struct {
	Len      int
	Snapshot sandbox.SnapshotID
}

// Extra returns the note in a lineage that a mark is kept as.
func (m Mark) Extra() Extra { return Extra{MarkKey, fmt.Sprintf("%d %s", m.Len, m.Snapshot)} }

// Marks returns the marks that a step made, in order.
func (l Lineage) Marks() []Mark { return marks(l.Extras) }

func marks(extras []Extra) (all []Mark) {
	for _, e := range extras {
		n, id, ok := strings.Cut(e.Value, " ")
		if e.Key != MarkKey || !ok {
			continue
		}
		if n, err := strconv.Atoi(n); err == nil {
			all = append(all, Mark{n, sandbox.SnapshotID(id)})
		}
	}
	return all
}

// Before returns the last of the marks that is not beyond n chunks.
func Before(all []Mark, n int) (found Mark, ok bool) {
	for _, m := range all {
		if m.Len <= n && (!ok || m.Len >= found.Len) {
			found, ok = m, true
		}
	}
	return found, ok
}

// Snapshot returns what the files of the workspace were at the end of this session, as far
// as it or an ancestor in memory has it marked. A session cut with ForkAt has what belongs
// to its last chunk.
func (s Session) Snapshot() (sandbox.SnapshotID, bool) {
	n := s.get()
	for at := n.content.Len(); n != nil; {
		if n.origin != nil {
			if m, ok := Before(marks(n.origin.extras), at); ok {
				return m.Snapshot, true
			}
		}
		from := n.source()
		if from != nil && at > commonPrefix(n.content, from.content) { // else it is cut from the parent
			at = from.content.Len()
		}
		n = from
	}
	return "", false
}

// source is the parent that a node's files are those of, nil if there is none, or more
// than one.
func (n *node) source() (source *node) {
	for _, e := range n.parents {
		switch {
		case e.role == RoleBranch, e.node.absent && e.role == RoleInput:
			return nil
		case e.role == RoleInput:
			source = e.node
		}
	}
	return source
}

// WithMark returns a handle on the same session that says what the files of its workspace
// are at its end.
func (s Session) WithMark(id sandbox.SnapshotID) Session {
	n := *s.get()
	var o origin
	if n.origin != nil {
		o = *n.origin
	}
	o.extras = append(o.extras[:len(o.extras):len(o.extras)], Mark{n.content.Len(), id}.Extra())
	n.origin = &o
	n.rehang()
	return Session{&n}
}
