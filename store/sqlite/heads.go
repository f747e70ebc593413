package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// Heads implements [store.Sessions].
func (d *database) Heads(ctx context.Context, f store.SessionFilter) iter.Seq2[session.Head, error] {
	return func(yield func(session.Head, error) bool) {
		where := sessionFilter(f)
		n := 0
		for h, err := range d.heads(ctx, where, f.Newest) {
			if err != nil {
				yield(session.Head{}, d.failed("list sessions", nil, err))
				return
			}
			if n++; !yield(h, nil) || n == f.Limit {
				return
			}
		}
	}
}

func sessionFilter(f store.SessionFilter) (where filter) {
	where.prefix("s.id", f.Prefix)
	if f.Run != "" {
		where.add("s.run = ?", runColumn(f.Run))
	}
	if f.Path != "" {
		where.add("(s.path = ? OR s.path > ? AND s.path < ?)", f.Path, f.Path+"/", f.Path+"0") // "0" comes after "/"
	}
	if f.Op != session.OpUnknown {
		where.add("s.op = ?", f.Op.String())
	}
	if !f.Since.IsZero() {
		where.add("s.time >= ?", micros(f.Since))
	}
	if !f.Until.IsZero() {
		where.add("s.time < ?", micros(f.Until))
	}
	where.related(f.AncestorsOf, "child", "parent")
	where.related(f.DescendantsOf, "parent", "child")
	return where
}

const headColumns = `SELECT s.id, s.len, s.digest, s.op, s.path, s.run, s.time, s.usage, s.placement, s.extras, e.parent, e.role
FROM sessions s LEFT JOIN edges e ON e.child = s.id`

// heads yields sessions in the order of their ids. Each has a row for each parent.
func (d *database) heads(ctx context.Context, where filter, newest bool) iter.Seq2[session.Head, error] {
	order := " ORDER BY s.id, e.n"
	if newest {
		order = " ORDER BY s.id DESC, e.n DESC"
	}
	return func(yield func(session.Head, error) bool) {
		var h session.Head
		emit := func() bool { // the session whose rows were read, if any
			if h.ID.IsZero() {
				return true
			}
			if newest {
				slices.Reverse(h.Lineage.Parents)
			}
			return yield(h, nil)
		}
		var r headRow
		err := d.each(ctx, func(rows *sql.Rows) error {
			if err := r.scan(rows); err != nil {
				return err
			}
			if id := session.ID(r.id); id != h.ID {
				if !emit() {
					h = session.Head{}
					return errStop
				}
				var err error
				if h, err = r.head(); err != nil {
					return fmt.Errorf("session %s: %w: %w", id, store.ErrDamaged, err)
				}
			}
			if r.parent != nil {
				h.Lineage.Parents = append(h.Lineage.Parents, session.Parent{ID: session.ID(r.parent), Role: fromRoleColumn(r.role)})
			}
			return nil
		}, headColumns+where.String()+order, where.args...)
		if err != nil {
			yield(session.Head{}, err)
			return
		}
		emit()
	}
}

// headRow is a row as it is read: the bytes hold until the next.
type headRow struct {
	id, digest, op, path, usage, placement, extras, parent, role sql.RawBytes
	run                                                          any
	len, time                                                    int64
}

func (r *headRow) scan(rows *sql.Rows) error {
	err := rows.Scan(&r.id, &r.len, &r.digest, &r.op, &r.path, &r.run, &r.time, &r.usage, &r.placement, &r.extras, &r.parent, &r.role)
	if err == nil && (len(r.id) != len(session.ID{}) || len(r.digest) != len(session.Digest{}) || r.parent != nil && len(r.parent) != len(session.ID{})) {
		return store.ErrDamaged
	}
	return err
}

func (r *headRow) head() (h session.Head, err error) {
	h.ID, h.Digest, h.Len = session.ID(r.id), session.Digest(r.digest), int(r.len)
	h.Lineage = session.Lineage{Path: string(r.path), Run: fromRunColumn(r.run), Time: fromMicros(r.time)}
	h.Usage = fromUsageColumn(r.usage)
	if err = h.Lineage.Op.UnmarshalText(r.op); err == nil && r.placement != nil {
		err = json.Unmarshal(r.placement, &h.Placement)
	}
	if err == nil && r.extras != nil {
		err = json.Unmarshal(r.extras, &h.Lineage.Extras)
	}
	return h, err
}
