package sqlite

import (
	"context"
	"fmt"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// sessionSize is about what a session takes in the queue.
const sessionSize = 4 << 10

// PutSessions implements [store.Sessions].
func (d *database) PutSessions(ctx context.Context, sessions ...session.Session) error {
	if len(sessions) == 0 {
		return nil
	}
	digest(sessions)
	return d.do(ctx, "keep session", sessions[0].ID(), len(sessions)*sessionSize, func(w *writer) error {
		return w.sessions(sessions)
	})
}

// digest computes digests in the caller's goroutine rather than the writer's. They stay
// with the transcripts.
func digest(sessions []session.Session) {
	for _, s := range sessions {
		s.Digest()
	}
}

// Session implements [store.Sessions].
func (d *database) Session(ctx context.Context, id session.ID) (session.Session, error) {
	s, err := d.session(ctx, id)
	if err != nil {
		return s, d.failed("read session", id, err)
	}
	return s, nil
}

func (d *database) session(ctx context.Context, id session.ID) (s session.Session, err error) {
	var h session.Head
	for h, err = range d.heads(ctx, filter{[]string{"s.id = ?"}, []any{id[:]}}, false) {
		if err != nil {
			return s, err
		}
	}
	if h.ID.IsZero() {
		return s, store.ErrNotFound
	}
	content, err := d.transcript(ctx, h)
	if err != nil {
		return s, err
	}
	return session.Restore(session.Record{ID: id, Content: content, Lineage: h.Lineage, Usage: h.Usage, Placement: h.Placement}), nil
}

// sessions keeps sessions and their ancestors in memory.
func (w *writer) sessions(sessions []session.Session) error {
	for _, s := range w.missing(sessions) {
		if err := w.session(s); err != nil {
			return fmt.Errorf("session %s: %w", s.ID(), err)
		}
	}
	return nil
}

// missing walks up from sessions to those that are known to be kept, and returns what it
// passed, parents first. It does not recurse: lineages can be long.
func (w *writer) missing(sessions []session.Session) (missing []session.Session) {
	type visit struct {
		session.Session
		after bool // its parents were visited
	}
	var stack []visit
	push := func(sessions []session.Session) {
		for i := range sessions {
			stack = append(stack, visit{Session: sessions[len(sessions)-1-i]})
		}
	}
	push(sessions)
	for seen := map[session.ID]bool{}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch id := v.ID(); {
		case v.after:
			missing = append(missing, v.Session)
		case !id.IsZero() && !seen[id] && !w.kept.covers(v.Session):
			seen[id] = true
			stack = append(stack, visit{v.Session, true})
			push(v.Parents())
		}
	}
	return missing
}

// session keeps one session.
func (w *writer) session(s session.Session) error {
	r := s.Record()
	tip, err := w.tip(r.Content, r.Lineage.Parents)
	if err != nil {
		return err
	}
	row, err := sessionRow(r, tip)
	if err != nil {
		return err
	}
	n, err := w.exec(`INSERT INTO sessions (id, tip, len, digest, op, path, run, time, usage, placement, extras)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, row...)
	if err != nil {
		return err
	}
	if n == 0 { // it was kept already
		r.Lineage.Parents = nil
	}
	for i, p := range r.Lineage.Parents {
		if _, err := w.exec("INSERT INTO edges (child, n, parent, role) VALUES (?, ?, ?, ?)", r.ID[:], i, p.ID[:], roleColumn(p.Role)); err != nil {
			return err
		}
	}
	w.kept.add(s, tip)
	return nil
}

// keptSessions remembers sessions that are kept with all their ancestors in memory, the
// last of them at least.
type keptSessions struct{ young, old map[session.ID]keptSession }

type keptSession struct {
	parents int // of it in memory
	tip     int64
	len     int
	digest  session.Digest
}

const maxKept = 1 << 12 // in each half

func (k *keptSessions) get(id session.ID) (keptSession, bool) {
	s, ok := k.young[id]
	if !ok {
		s, ok = k.old[id]
	}
	return s, ok
}

// covers reports whether nothing of a session and its ancestors is left to keep. The same
// session may come back with more parents in memory.
func (k *keptSessions) covers(s session.Session) bool {
	kept, ok := k.get(s.ID())
	return ok && kept.parents >= len(s.Parents())
}

func (k *keptSessions) add(s session.Session, tip int64) {
	if k.young == nil || len(k.young) == maxKept {
		k.young, k.old = map[session.ID]keptSession{}, k.young
	}
	k.young[s.ID()] = keptSession{len(s.Parents()), tip, s.Len(), s.Digest()}
}
