package session

import (
	"fmt"
	"slices"
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
	return s.SnapshotAt(s.Len(), nil)
}

// SnapshotAt returns what the files were after the first n chunks. Ancestors that are not
// in memory are asked of find, unless that is nil; one that it does not find ends the search.
func (s Session) SnapshotAt(n int, find func(ID) (Session, bool)) (sandbox.SnapshotID, bool) {
	for from, ok := s, true; ok; {
		if m, ok := Before(from.marks(), n); ok {
			return m.Snapshot, true
		}
		from, n, ok = from.source(n, find)
	}
	return "", false
}

func (s Session) marks() []Mark {
	if o := s.get().origin; o != nil {
		return marks(o.extras)
	}
	return nil
}

// source returns the parent whose files those after the first n chunks are, and after how
// many of its own. Within what branches have in common it is the first of them; what they
// made of it together only the session itself can tell.
func (s Session) source(n int, find func(ID) (Session, bool)) (Session, int, bool) {
	var first Session
	content := s.get().content
	for _, e := range s.get().parents {
		if e.role != RoleInput && e.role != RoleBranch {
			continue
		}
		parent := Session{e.node}
		if e.node.absent {
			ok := false
			if find != nil {
				parent, ok = find(e.node.id)
			}
			if !ok {
				return Session{}, 0, false
			}
		}
		shared := commonPrefix(content, parent.get().content)
		switch {
		case e.role == RoleBranch && n > shared:
			return Session{}, 0, false
		case e.role == RoleInput && (n > shared || s.get().op == OpCompress): // else it is cut from the parent
			return parent, parent.Len(), true
		case e.role == RoleInput:
			return parent, n, true
		case first.n == nil:
			first = parent
		}
	}
	return first, n, first.n != nil
}

// allMarks returns those of the session and of what it comes from, the oldest first.
func (s Session) allMarks() (all []Mark) {
	n := s.Len()
	for from, ok := s, true; ok; {
		own := slices.DeleteFunc(from.marks(), func(m Mark) bool { return m.Len > n })
		all = append(own, all...)
		from, n, ok = from.source(n, nil)
	}
	return all
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
