package local

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/openrath-go/rath/memory/driver"
)

// noteColumns are what [scanNote] reads.
const noteColumns = "id, uri, text, title, context, about, importance, trust, meta, source, created, time, until, replaces"

// scanNote reads a row of noteColumns, and further columns into dest.
func scanNote(row scanner, dest ...any) (id int64, n driver.Note, err error) {
	var title, context, about, trust, meta, source, replaces sql.NullString
	var importance sql.NullFloat64
	var created, said, until int64
	columns := []any{&id, &n.URI, &n.Text, &title, &context, &about, &importance, &trust, &meta, &source, &created, &said, &until, &replaces}
	if err := row.Scan(append(columns, dest...)...); err != nil {
		return 0, n, err
	}
	n.Title, n.Context, n.About = title.String, context.String, about.String
	n.Importance, n.Trust, n.Replaces = importance.Float64, driver.Trust(trust.String), driver.URI(replaces.String)
	n.Created, n.Time, n.Until = fromNanos(created), fromNanos(said), fromNanos(until)
	if err := fromJSON(meta, &n.Meta); err != nil {
		return 0, n, fmt.Errorf("%w: metadata of %s: %w", ErrDamaged, n.URI, err)
	}
	if err := fromJSON(source, &n.Source); err != nil {
		return 0, n, fmt.Errorf("%w: source of %s: %w", ErrDamaged, n.URI, err)
	}
	return id, n, nil
}

// noteRow gives what the statements in notes.go write, in the order of the schema.
func noteRow(n driver.Note) ([]any, error) {
	meta, err := toJSON(n.Meta, len(n.Meta) == 0)
	if err != nil {
		return nil, err
	}
	source, err := toJSON(n.Source, n.Source == driver.Source{})
	if err != nil {
		return nil, err
	}
	for _, t := range []time.Time{n.Created, n.Time, n.Until} {
		if !t.IsZero() && !time.Unix(0, t.UnixNano()).Equal(t) {
			return nil, fmt.Errorf("%w: the time %v is out of range", driver.ErrInvalid, t)
		}
	}
	return []any{
		string(n.URI), n.Text, orNull(n.Title), orNull(n.Context), orNull(n.About), orNull(n.Importance), orNull(string(n.Trust)),
		meta, source, nanos(n.Created), nanos(n.Time), nanos(n.Until), orNull(string(n.Replaces)), wordsHash(n.Text),
	}, nil
}

// wordsHash is equal for texts that are the same.
func wordsHash(text string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(driver.Words(text))) // never fails
	return int64(h.Sum64())
}

func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func toJSON(v any, empty bool) (any, error) {
	if empty {
		return nil, nil
	}
	data, err := json.Marshal(v)
	return string(data), err
}

func fromJSON(text sql.NullString, v any) error {
	if !text.Valid {
		return nil
	}
	return json.Unmarshal([]byte(text.String), v)
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
