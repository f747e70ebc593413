package session

import (
	"errors"
	"fmt"
)

// ErrCutCall is returned where an operation would part a tool call from its result.
var ErrCutCall = errors.New("a tool call would be parted from its result")

// Fork begins a new branch with the same chunks and placement, s its parent. It
// costs the same whatever the length.
func (s Session) Fork() Session {
	out := s.child(OpFork, s.get().content)
	out.n.link(s.get(), RoleInput)
	return out
}

// ForkAt begins a branch that keeps the first n chunks. It refuses with ErrCutCall to
// part a call from its result.
func (s Session) ForkAt(n int) (Session, error) {
	content := s.get().content
	if n < 0 || n > content.Len() {
		return Session{}, fmt.Errorf("fork session %s at %d: it has %d chunks", s.ID(), n, content.Len())
	}
	if content.cuts(n) {
		return Session{}, fmt.Errorf("fork session %s at %d: %w", s.ID(), n, ErrCutCall)
	}
	out := s.Fork()
	out.n.content = content.First(n)
	return out, nil
}

// Detach returns a session with the same chunks and placement and no parents: what it
// came from can be collected. What the files of its workspace are is kept.
func (s Session) Detach() Session {
	out := s.child(OpDetach, s.get().content)
	for _, m := range s.allMarks() {
		if out.n.origin == nil {
			out.n.origin = &origin{}
		}
		out.n.origin.extras = append(out.n.origin.extras, m.Extra())
	}
	return out
}
