package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openrath-go/rath/memory/driver"
)

// edit is a change of notes that is under way.
type edit struct {
	tx    execer
	index *index
	now   time.Time
}

func (d *database) edit(ctx context.Context, f func(ctx context.Context, e *edit) error) error {
	return d.write(ctx, func(ctx context.Context, tx execer) error {
		return f(ctx, &edit{tx, d.index, d.now()})
	})
}

// Put implements [driver.Notes].
func (d *database) Put(ctx context.Context, mode driver.Mode, notes ...driver.Note) ([]driver.Note, error) {
	var kept []driver.Note
	err := d.edit(ctx, func(ctx context.Context, e *edit) (err error) {
		kept, err = e.putAll(ctx, mode, notes)
		return err
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

func (e *edit) putAll(ctx context.Context, mode driver.Mode, notes []driver.Note) ([]driver.Note, error) {
	kept := make([]driver.Note, len(notes))
	for i, n := range notes {
		var err error
		if kept[i], err = e.put(ctx, mode, n); err != nil {
			return nil, fmt.Errorf("note %s: %w", n.URI, err)
		}
	}
	return kept, nil
}

func (e *edit) put(ctx context.Context, mode driver.Mode, n driver.Note) (driver.Note, error) {
	if mode == driver.Merge {
		return e.merge(ctx, n)
	}
	id, old, err := e.at(ctx, n.URI)
	if err != nil {
		return n, err
	}
	return e.save(ctx, id, old, n)
}

// save writes a note, as a new one if id is 0, and completes its times.
func (e *edit) save(ctx context.Context, id int64, old, n driver.Note) (driver.Note, error) {
	if id != 0 {
		n.Created = old.Created
	}
	for _, t := range []*time.Time{&n.Created, &n.Time} {
		if t.IsZero() {
			*t = e.now
		}
	}
	if id == 0 {
		return e.insert(ctx, n)
	}
	row, err := noteRow(n)
	if err != nil {
		return n, err
	}
	again := n.Text != old.Text || n.Title != old.Title || n.Context != old.Context || n.About != old.About
	if again {
		if err := e.index.drop(ctx, e.tx, id); err != nil {
			return n, err
		}
	}
	const update = `UPDATE notes SET uri = ?, text = ?, title = ?, context = ?, about = ?, importance = ?, trust = ?, meta = ?,
		source = ?, created = ?, time = ?, until = ?, replaces = ?, words = ? WHERE id = ?`
	if err := exec(ctx, e.tx, update, append(row, id)...); err != nil || !again {
		return asKept(n), err
	}
	return asKept(n), e.index.put(ctx, e.tx, id, n)
}

func (e *edit) insert(ctx context.Context, n driver.Note) (driver.Note, error) {
	row, err := noteRow(n)
	if err != nil {
		return n, err
	}
	const insert = `INSERT INTO notes (uri, text, title, context, about, importance, trust, meta, source, created, time, until, replaces, words)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	done, err := e.tx.ExecContext(ctx, insert, row...)
	if err != nil {
		return n, err
	}
	id, err := done.LastInsertId()
	if err != nil {
		return n, err
	}
	return asKept(n), e.index.put(ctx, e.tx, id, n)
}

// asKept is a note as it is read again.
func asKept(n driver.Note) driver.Note {
	for _, t := range []*time.Time{&n.Created, &n.Time, &n.Until} {
		*t = fromNanos(nanos(*t))
	}
	if len(n.Meta) == 0 {
		n.Meta = nil
	}
	return n
}

// at reads the note at a URI; its id is 0 if there is none.
func (e *edit) at(ctx context.Context, uri driver.URI) (int64, driver.Note, error) {
	id, n, err := noteAt(ctx, e.tx, uri)
	_, err = exists(err)
	return id, n, err
}

func noteAt(ctx context.Context, tx querier, uri driver.URI) (int64, driver.Note, error) {
	return scanNote(tx.QueryRowContext(ctx, "SELECT "+noteColumns+" FROM notes WHERE uri = ?", string(uri)))
}

// Get implements [driver.Notes].
func (d *database) Get(ctx context.Context, uri driver.URI) (n driver.Note, err error) {
	err = d.read(ctx, func(ctx context.Context, tx querier) error {
		_, n, err = noteAt(ctx, tx, uri)
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("%w: %s", driver.ErrNotFound, uri)
		}
		return err
	})
	return n, err
}

// Remove implements [driver.Notes].
func (d *database) Remove(ctx context.Context, uri driver.URI, recursive bool) (n int, err error) {
	err = d.edit(ctx, func(ctx context.Context, e *edit) error {
		ids, err := e.ids(ctx, "uri = ?", string(uri))
		if err != nil {
			return err
		}
		low, high := below(uri)
		within, err := e.ids(ctx, "uri > ? AND uri < ?", low, high)
		switch {
		case err != nil:
			return err
		case recursive:
			ids = append(ids, within...)
		case len(ids) == 0 && len(within) > 0:
			return fmt.Errorf("%w: %s is a folder: it is removed recursively only", driver.ErrInvalid, uri)
		}
		if n = len(ids); n == 0 {
			return fmt.Errorf("%w: %s", driver.ErrNotFound, uri)
		}
		return e.remove(ctx, ids)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (e *edit) ids(ctx context.Context, where string, args ...any) (ids []int64, err error) {
	rows, err := e.tx.QueryContext(ctx, "SELECT id FROM notes WHERE "+where, args...)
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

func (e *edit) remove(ctx context.Context, ids []int64) error {
	for _, id := range ids {
		if err := e.index.drop(ctx, e.tx, id); err != nil {
			return err
		}
		if err := exec(ctx, e.tx, "DELETE FROM notes WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
}

// below gives the bounds, neither of them included, of the URIs in a folder. After the
// slash comes the digit zero.
func below(folder driver.URI) (low, high string) {
	low = strings.TrimSuffix(string(folder), "/") + "/"
	return low, low[:len(low)-1] + "0"
}
