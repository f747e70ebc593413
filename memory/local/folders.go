package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/driver"
)

// List implements [driver.Folders].
func (d *database) List(ctx context.Context, folder driver.URI) (entries []driver.Entry, err error) {
	err = d.read(ctx, func(ctx context.Context, tx querier) error {
		l := listing{tx: tx, folder: folder, at: map[driver.URI]int{}}
		l.low, l.high = below(folder)
		if err := l.run(ctx); err != nil {
			return err
		}
		entries = l.entries
		if len(entries) == 0 && folder.Parent() != driver.Root {
			return fmt.Errorf("%w: %s", driver.ErrNotFound, folder)
		}
		return nil
	})
	slices.SortFunc(entries, func(a, b driver.Entry) int { return cmp.Compare(a.URI, b.URI) })
	return entries, err
}

// listing collects what is directly in a folder. Where a folder begins, it counts what is
// in there and goes on behind it.
type listing struct {
	tx        querier
	folder    driver.URI
	low, high string
	entries   []driver.Entry
	at        map[driver.URI]int // of a folder's note among them
}

func (l *listing) run(ctx context.Context) error {
	for next := l.low; next != ""; {
		sub, err := l.notes(ctx, next)
		if err != nil || sub == "" {
			return err
		}
		if err := l.count(ctx, sub); err != nil {
			return err
		}
		_, next = below(sub)
	}
	return nil
}

// prefix is how many runes of a text are read for its abstract.
const prefix = "2000"

// notes lists notes from a URI on, up to the first in a deeper folder, which it returns.
func (l *listing) notes(ctx context.Context, next string) (sub driver.URI, err error) {
	const query = "SELECT uri, octet_length(text), time, until <> 0, substr(text, 1, " + prefix + ") FROM notes WHERE uri >= ? AND uri < ? ORDER BY uri"
	rows, err := l.tx.QueryContext(ctx, query, next, l.high)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var said int64
		var text string
		e := driver.Entry{IsNote: true}
		if err := rows.Scan(&e.URI, &e.Size, &said, &e.Ended, &text); err != nil {
			return "", err
		}
		if name, _, deeper := strings.Cut(string(e.URI[len(l.low):]), "/"); deeper {
			return driver.URI(l.low + name), nil
		}
		e.Time, e.Abstract = fromNanos(said), memory.AbstractOf(text)
		l.at[e.URI] = len(l.entries)
		l.entries = append(l.entries, e)
	}
	return "", rows.Err()
}

// count notes how much is in a folder.
func (l *listing) count(ctx context.Context, sub driver.URI) error {
	i, ok := l.at[sub]
	if !ok {
		i = len(l.entries)
		l.entries = append(l.entries, driver.Entry{URI: sub})
	}
	low, high := below(sub)
	return l.tx.QueryRowContext(ctx, "SELECT count(*) FROM notes WHERE uri > ? AND uri < ?", low, high).Scan(&l.entries[i].Notes)
}

// Move implements [driver.Folders].
func (d *database) Move(ctx context.Context, from, to driver.URI) error {
	switch {
	case to.In(from):
		return fmt.Errorf("%w: %s is in %s", driver.ErrInvalid, to, from)
	case to == driver.Root || to.Parent() == driver.Root:
		return fmt.Errorf("%w: %s", driver.ErrExists, to)
	}
	return d.write(ctx, func(ctx context.Context, tx execer) error {
		count, longest, err := measure(ctx, tx, from)
		if err != nil {
			return err
		}
		there, _, err := measure(ctx, tx, to)
		switch {
		case err != nil:
			return err
		case count == 0:
			return fmt.Errorf("%w: %s", driver.ErrNotFound, from)
		case there > 0:
			return fmt.Errorf("%w: %s", driver.ErrExists, to)
		case longest-len(from)+len(to) > driver.MaxURI:
			return fmt.Errorf("%w: a URI in %s would be longer than %d bytes", driver.ErrInvalid, to, driver.MaxURI)
		}
		return rename(ctx, tx, from, to)
	})
}

// measure gives the number of notes at and below a URI, and the length of the longest of
// their URIs.
func measure(ctx context.Context, tx querier, uri driver.URI) (count, longest int, err error) {
	low, high := below(uri)
	const query = "SELECT count(*), ifnull(max(octet_length(uri)), 0) FROM notes WHERE uri = ? OR uri > ? AND uri < ?"
	err = tx.QueryRowContext(ctx, query, string(uri), low, high).Scan(&count, &longest)
	return count, longest, err
}

// rename changes the beginnings of URIs, also where notes name others.
func rename(ctx context.Context, tx execer, from, to driver.URI) error {
	low, high := below(from)
	rest := utf8.RuneCountInString(string(from)) + 1
	for _, column := range []string{"uri", "replaces"} {
		query := fmt.Sprintf("UPDATE notes SET %[1]s = ? || substr(%[1]s, ?) WHERE %[1]s = ? OR %[1]s > ? AND %[1]s < ?", column)
		if err := exec(ctx, tx, query, string(to), rest, string(from), low, high); err != nil {
			return err
		}
	}
	return nil
}
