package session

import (
	"errors"
	"fmt"
)

// Errors that Merge and Concat wrap.
var (
	ErrNothingToMerge = errors.New("no sessions to merge")
	ErrPlacement      = errors.New("sessions are placed on different sandboxes")
)

// Merge joins branches: the prefix that they share once, then each branch's own
// chunks, in argument order. Branches that share more among themselves than with the
// rest have that once too. The usage is zero, since the parents keep theirs. Merging
// one session gives that session.
//
// It fails with ErrCutCall when branches part between a call and its result, and with
// ErrPlacement when they are placed on different sandboxes.
func Merge(parts ...Session) (Session, error) {
	switch len(parts) {
	case 0:
		return Session{}, ErrNothingToMerge
	case 1:
		return parts[0], nil
	}
	content := parts[0].get().content
	for i, p := range parts[1:] {
		own := p.get().content
		shared := 0
		for _, q := range parts[:i+1] {
			shared = max(shared, commonPrefix(q.get().content, own))
		}
		if shared == content.Len() { // own only goes on from there: share its storage
			content = own
			continue
		}
		if own.cuts(shared) {
			return Session{}, fmt.Errorf("merge session %s, which parts from the others at chunk %d: %w", p.ID(), shared, ErrCutCall)
		}
		content = appendFrom(content, own, shared)
	}
	return join(content, parts)
}

// Concat joins two whole transcripts, a shared prefix twice: OpenRath's merge.
func Concat(a, b Session) (Session, error) {
	return join(appendFrom(a.get().content, b.get().content, 0), []Session{a, b})
}

func appendFrom(t, own Transcript, n int) Transcript {
	e := t.end()
	for _, c := range own.From(n) {
		e = e.push(c)
	}
	return Transcript{e}
}

// join makes the node: the first part that is placed gives the placement.
func join(content Transcript, parts []Session) (Session, error) {
	placed := parts[0]
	for _, p := range parts[1:] {
		switch {
		case placed.Sandbox() == nil:
			placed = p
		case p.Sandbox() != nil && p.Sandbox() != placed.Sandbox():
			return Session{}, fmt.Errorf("merge %s (%s) and %s (%s): %w", placed.ID(), placed.Sandbox(), p.ID(), p.Sandbox(), ErrPlacement)
		}
	}
	out := parts[0].child(OpMerge, content)
	out.n.place = placed.get().place
	for _, p := range parts {
		out.n.link(p.get(), RoleBranch)
	}
	return out, nil
}
