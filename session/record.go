package session

import (
	"slices"

	"github.com/openrath-go/rath/sandbox"
)

// Record is a session as it is kept at rest.
type Record struct {
	ID        ID
	Content   Transcript
	Lineage   Lineage
	Usage     Usage
	Placement sandbox.Placement
}

// Record returns what a store keeps of the session.
func (s Session) Record() Record {
	return Record{s.ID(), s.Transcript(), s.Lineage(), s.Usage(), s.Placement()}
}

// Restore makes the session that a record describes, with the record's id and time.
// Parents that are given are linked by their id; the others stay known by id alone.
// The placement is remembered, not opened: [Session.To] places the session.
func Restore(r Record, parents ...Session) Session {
	n := &node{id: r.ID, content: r.Content, op: r.Lineage.Op}
	if !r.Lineage.Time.IsZero() {
		n.nanos = r.Lineage.Time.UnixNano()
	}
	for _, p := range r.Lineage.Parents {
		i := slices.IndexFunc(parents, func(s Session) bool { return s.ID() == p.ID })
		if i >= 0 {
			n.link(parents[i].get(), p.Role)
		} else {
			n.link(&node{id: p.ID, absent: true}, p.Role)
		}
	}
	if r.Usage != (Usage{}) {
		n.usage = &r.Usage
	}
	if l := r.Lineage; l.Path != "" || l.Run != "" || len(l.Extras) > 0 {
		n.origin = &origin{l.Path, l.Run, slices.Clone(l.Extras)}
	}
	if r.Placement.Backend != "" {
		n.place = &place{recorded: r.Placement}
	}
	return Session{n}
}
