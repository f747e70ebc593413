package local

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"time"

	"github.com/openrath-go/rath/memory/driver"
)

// merge keeps a note as [driver.Merge] says.
func (e *edit) merge(ctx context.Context, n driver.Note) (driver.Note, error) {
	if n.Time.IsZero() {
		n.Time = e.now
	}
	id, old, err := e.at(ctx, n.URI)
	if err == nil && id == 0 {
		id, old, err = e.same(ctx, n)
	}
	if err != nil {
		return n, err
	}
	if id != 0 {
		if !driver.Same(old.Text, n.Text) {
			return n, fmt.Errorf("%w: %.80q", driver.ErrExists, old.Text)
		}
		if n.Trust.Worse(old.Trust) {
			return old, nil
		}
		n = join(old, n)
	}
	if n.Until.IsZero() {
		if n, err = e.settle(ctx, id, n); err != nil {
			return n, err
		}
	}
	return e.save(ctx, id, old, n)
}

// same finds a note of the folder with the same words, about the same.
func (e *edit) same(ctx context.Context, n driver.Note) (id int64, old driver.Note, err error) {
	low, high := below(n.URI.Parent())
	rows, err := e.tx.QueryContext(ctx, "SELECT "+noteColumns+" FROM notes WHERE words = ? AND +uri > ? AND +uri < ? ORDER BY id", wordsHash(n.Text), low, high)
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		found, x, err := scanNote(rows)
		about := x.About == n.About || x.About == "" || n.About == ""
		if id == 0 && err == nil && about && x.URI.Parent() == n.URI.Parent() && driver.Same(x.Text, n.Text) {
			id, old = found, x
		}
		return err
	})
	return id, old, err
}

// join makes one of two notes with the same words. What has ended holds again if it was
// said again since. Only a person's word makes it one to be trusted more.
func join(old, n driver.Note) driver.Note {
	j := old
	j.Title, j.Context, j.About = or(n.Title, old.Title), or(n.Context, old.Context), or(n.About, old.About)
	j.Importance = max(old.Importance, n.Importance)
	if n.Trust == driver.TrustUser {
		j.Trust = n.Trust
	}
	j.Source, j.Replaces = or(old.Source, n.Source), or(n.Replaces, old.Replaces)
	if len(n.Meta) > 0 {
		j.Meta = maps.Clone(n.Meta)
		for k, v := range old.Meta {
			if _, ok := j.Meta[k]; !ok {
				j.Meta[k] = v
			}
		}
	}
	if n.Time.After(old.Time) {
		j.Time = n.Time
	}
	if j.Until = n.Until; n.Until.IsZero() && !n.Time.After(old.Until) {
		j.Until = old.Until
	}
	return j
}

func or[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

// settle makes a note the one that holds: those that it takes the place of end. If one of
// them was said later, that one holds, and the note has ended when that was said. Those
// with a better trust hold beside it.
func (e *edit) settle(ctx context.Context, id int64, n driver.Note) (driver.Note, error) {
	rivals, err := e.rivals(ctx, id, n)
	if err != nil {
		return n, err
	}
	var last driver.Note
	for _, r := range rivals {
		switch {
		case n.Trust.Worse(r.Trust):
			if n.Replaces == r.URI {
				n.Replaces = ""
			}
		case !e.later(r.Time, n.Time):
			if err := exec(ctx, e.tx, "UPDATE notes SET until = ? WHERE uri = ?", max(nanos(n.Time), nanos(r.Time)), string(r.URI)); err != nil {
				return n, err
			}
			if last.URI == "" || r.Time.After(last.Time) {
				last = r
			}
		case r.Trust.Worse(n.Trust): // it holds on, but does not end what is better
		case n.Until.IsZero() || r.Time.Before(n.Until):
			n.Until = r.Time
		}
	}
	n.Replaces = or(last.URI, n.Replaces)
	return n, nil
}

// later reports whether one time is after another. One that is ahead of the clock is not
// after one that is not: the clock was put back between them.
func (e *edit) later(a, b time.Time) bool {
	return a.After(b) && (b.After(e.now) || !a.After(e.now))
}

// rivals are the notes that hold and cannot hold beside n: what it replaces, and those of
// its folder that are about the same and say something else.
func (e *edit) rivals(ctx context.Context, id int64, n driver.Note) (rivals []driver.Note, err error) {
	if n.About == "" && n.Replaces == "" {
		return nil, nil
	}
	low, high := below(n.URI.Parent())
	rows, err := e.tx.QueryContext(ctx, "SELECT "+noteColumns+` FROM notes WHERE until = 0 AND id <> ?
		AND (uri = ? OR about = ? AND uri > ? AND uri < ?) ORDER BY id`, id, string(n.Replaces), orNull(n.About), low, high)
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		_, x, err := scanNote(rows)
		aside := x.URI.Parent() == n.URI.Parent() && !driver.Same(x.Text, n.Text)
		if x.URI == n.Replaces || aside {
			rivals = append(rivals, x)
		}
		return err
	})
	return rivals, err
}
