package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// errDry undoes a dry run: it removes, counts, and leaves nothing changed.
var errDry = errors.New("only counted")

// Collect implements [store.Collector]. What the JSON of an event, a question or a session
// that is left names by its digest or id is left too.
func (d *database) Collect(ctx context.Context, c store.Collection) (out store.Collected, err error) {
	err = d.do(ctx, "collect", "what nothing reaches", 0, func(w *writer) error {
		if out, err = w.collect(c.Before); err == nil && c.DryRun {
			err = errDry
		}
		return err
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	if err != nil {
		return store.Collected{}, err
	}
	return out, nil
}

func (w *writer) collect(before time.Time) (out store.Collected, err error) {
	w.forget()
	if !before.IsZero() {
		if err := w.collectRuns(before, &out); err != nil {
			return out, err
		}
	}
	named, err := w.named()
	if err != nil {
		return out, err
	}
	if !before.IsZero() {
		if err := w.collectSessions(before, named, &out); err != nil {
			return out, err
		}
	}
	if err := w.collectContent(named, &out); err != nil {
		return out, err
	}
	_, err = w.exec("UPDATE collections SET count = count + 1")
	return out, err
}

const endedRuns = " FROM runs WHERE state IN ('succeeded', 'failed', 'cancelled', 'timed_out') AND updated < ?"

func (w *writer) collectRuns(before time.Time, out *store.Collected) error {
	_, err := w.row("SELECT count(*) FROM events WHERE run IN (SELECT num"+endedRuns+")", []any{micros(before)}, &out.Events)
	if err != nil {
		return err
	}
	n, err := w.exec("DELETE"+endedRuns, micros(before)) // their events and questions go with them
	out.Runs = int(n)
	return err
}

// collectSessions removes those that nothing comes from.
func (w *writer) collectSessions(before time.Time, named names, out *store.Collected) error {
	ids := make([]session.ID, 0, len(named.ids))
	for id := range named.ids {
		ids = append(ids, id)
	}
	n, err := w.exec(`DELETE FROM sessions WHERE time < ?1 AND id NOT IN (
	WITH RECURSIVE alive (id) AS (
		SELECT id FROM sessions WHERE time >= ?1
		UNION SELECT unhex(value) FROM json_each(?2)
		UNION SELECT input FROM runs
		UNION SELECT output FROM runs WHERE output IS NOT NULL
		UNION SELECT s.id FROM runs r JOIN sessions s ON s.run = r.id
		UNION SELECT e.parent FROM alive a JOIN edges e ON e.child = a.id
	) SELECT id FROM alive)`, micros(before), hexList(ids))
	out.Sessions = int(n)
	return err
}

// collectContent removes entries that no session reaches, and objects that neither an
// entry nor a name refers to.
func (w *writer) collectContent(named names, out *store.Collected) error {
	entries, objects := marks{}, marks{}
	err := w.each(func(rows *sql.Rows) error {
		var tip int64
		err := rows.Scan(&tip)
		entries.set(tip)
		return err
	}, "SELECT DISTINCT tip FROM sessions")
	if err != nil {
		return err
	}
	if err := w.sweepEntries(entries, objects); err != nil {
		return err
	}
	for digest := range named.digests {
		var id int64
		if _, err := w.row("SELECT id FROM objects WHERE digest = ?", []any{digest[:cut]}, &id); err != nil {
			return err
		}
		objects.set(id)
	}
	return w.sweepObjects(objects, out)
}

// sweepEntries goes from the youngest to the oldest, and so sees every entry after those
// that follow it.
func (w *writer) sweepEntries(entries, objects marks) error {
	var dead []int64
	err := w.each(func(rows *sql.Rows) error {
		var id, prev, chunk int64
		if err := rows.Scan(&id, &prev, &chunk); err != nil {
			return err
		}
		if entries.has(id) {
			entries.set(prev)
			objects.set(chunk)
		} else {
			dead = append(dead, id)
		}
		return nil
	}, "SELECT id, prev, chunk FROM entries ORDER BY id DESC")
	for _, id := range dead {
		if err != nil {
			break
		}
		_, err = w.exec("DELETE FROM entries WHERE id = ?", id)
	}
	return err
}

func (w *writer) sweepObjects(objects marks, out *store.Collected) error {
	var dead []int64
	err := w.each(func(rows *sql.Rows) error {
		var id, size int64
		err := rows.Scan(&id, &size)
		if !objects.has(id) {
			dead = append(dead, id)
			out.Bytes += size
		}
		return err
	}, "SELECT id, coalesce(size, length(body)) FROM objects")
	for _, id := range dead {
		if err != nil {
			break
		}
		_, err = w.exec("DELETE FROM objects WHERE id = ?", id)
	}
	out.Objects = len(dead)
	return err
}

// marks is a set of row numbers, which are dense.
type marks map[int64]uint64

func (m marks) set(id int64)      { m[id>>6] |= 1 << (id & 63) }
func (m marks) has(id int64) bool { return m[id>>6]&(1<<(id&63)) != 0 }

// names are the digests and ids that JSON mentions.
type names struct {
	digests map[session.Digest]struct{}
	ids     map[session.ID]struct{}
}

// named reads the names in all that is left.
func (w *writer) named() (names, error) {
	n := names{map[session.Digest]struct{}{}, map[session.ID]struct{}{}}
	err := w.each(func(rows *sql.Rows) error {
		var text sql.RawBytes
		err := rows.Scan(&text)
		n.add(text)
		return err
	}, `SELECT body FROM events
UNION ALL SELECT spec FROM runs WHERE spec IS NOT NULL
UNION ALL SELECT request FROM interrupts WHERE request IS NOT NULL
UNION ALL SELECT decision FROM interrupts WHERE decision IS NOT NULL
UNION ALL SELECT extras FROM sessions WHERE extras IS NOT NULL`)
	return n, err
}

// add finds what looks like a digest or an id, whatever stands around it.
func (n names) add(text []byte) {
	const digest, dash, id = 2 * len(session.Digest{}), 8, 36 // lengths, and where an id's first dash is
	digits := 0                                               // right before i
	for i, c := range text {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
			if digits++; digits >= digest {
				n.addDigest(text[i+1-digest : i+1])
			}
		case c == '-' && digits >= dash && len(text) >= i-dash+id:
			n.addID(text[i-dash : i-dash+id])
			digits = 0
		default:
			digits = 0
		}
	}
}

func (n names) addDigest(text []byte) {
	var d session.Digest
	if d.UnmarshalText(text) == nil {
		n.digests[d] = struct{}{}
	}
}

func (n names) addID(text []byte) {
	if id, err := session.ParseID(string(text)); err == nil {
		n.ids[id] = struct{}{}
	}
}
