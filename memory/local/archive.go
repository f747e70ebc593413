package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// Archive implements [driver.Archiver].
func (d *database) Archive(ctx context.Context, a driver.Archive, job bool) (state driver.State, err error) {
	digest, n := a.Transcript.Digest(), a.Transcript.Len()
	if a.Digest != digest && a.Digest != (session.Digest{}) || a.Len != n && a.Len != 0 {
		return "", fmt.Errorf("%w: the transcript has %d chunks and the digest %s, not %d and %s", driver.ErrInvalid, n, digest, a.Len, a.Digest)
	}
	a.Digest, a.Len = digest, n
	if a.Time.IsZero() {
		a.Time = d.now()
	}
	err = d.write(ctx, func(ctx context.Context, tx execer) error {
		id, err := archive(ctx, tx, a)
		if err == nil && job {
			err = enqueue(ctx, tx, id, a)
		}
		if err == nil {
			state, err = stateOf(ctx, tx, digest)
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case state == driver.Done:
		return driver.Known, nil
	case !job:
		return driver.Archived, nil
	}
	return state, nil
}

// archive keeps a transcript and returns its row, a new one or the one that there was.
func archive(ctx context.Context, tx execer, a driver.Archive) (id int64, err error) {
	tip, err := keep(ctx, tx, a.Transcript)
	if err != nil {
		return 0, err
	}
	used, err := toJSON(a.Used, len(a.Used) == 0)
	if err != nil {
		return 0, err
	}
	const insert = "INSERT INTO archives (session, digest, tip, len, time, used) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
	if err := exec(ctx, tx, insert, a.Session[:], a.Digest[:], tip, a.Len, nanos(a.Time), used); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, "SELECT id FROM archives WHERE session = ? AND digest = ?", a.Session[:], a.Digest[:]).Scan(&id)
	return id, err
}

// keep adds to the trie what is new of a transcript, and returns its last chunk's row.
// With what is kept, all that it begins with is kept.
func keep(ctx context.Context, tx execer, t session.Transcript) (tip int64, err error) {
	first := sort.Search(t.Len(), func(i int) bool {
		id, e := chunkOf(ctx, tx, t.First(i+1).Digest())
		err = errors.Join(err, e)
		return id == 0
	})
	if err != nil {
		return 0, err
	}
	if first > 0 {
		if tip, err = chunkOf(ctx, tx, t.First(first).Digest()); err != nil {
			return 0, err
		}
	}
	for i, c := range t.From(first) {
		body, err := c.MarshalJSON()
		if err != nil {
			return 0, fmt.Errorf("chunk %d: %w", i+1, err)
		}
		digest := t.First(i + 1).Digest()
		done, err := tx.ExecContext(ctx, "INSERT INTO chunks (prev, digest, body) VALUES (?, ?, ?)", tip, digest[:], body)
		if err != nil {
			return 0, err
		}
		if tip, err = done.LastInsertId(); err != nil {
			return 0, err
		}
	}
	return tip, nil
}

// chunkOf returns the last chunk of a transcript, 0 if it is not kept.
func chunkOf(ctx context.Context, tx querier, digest session.Digest) (id int64, err error) {
	_, err = exists(tx.QueryRowContext(ctx, "SELECT id FROM chunks WHERE digest = ?", digest[:]).Scan(&id))
	return id, err
}

// archiveColumns are what [scanArchive] reads.
const archiveColumns = "a.session, a.digest, a.len, a.time, a.used"

func scanArchive(row scanner, dest ...any) (a driver.Archive, err error) {
	var id, digest []byte
	var at int64
	var used sql.NullString
	if err := row.Scan(append([]any{&id, &digest, &a.Len, &at, &used}, dest...)...); err != nil {
		return a, err
	}
	copy(a.Session[:], id)
	copy(a.Digest[:], digest)
	a.Time = fromNanos(at)
	if used.Valid {
		err = json.Unmarshal([]byte(used.String), &a.Used)
	}
	return a, err
}

// Archives implements [driver.Archiver].
func (d *database) Archives(ctx context.Context, id session.ID) (list []driver.Archive, err error) {
	query := "SELECT " + archiveColumns + ", j.state, j.notes FROM archives a LEFT JOIN jobs j ON j.digest = a.digest"
	var args []any
	if !id.IsZero() {
		query, args = query+" WHERE a.session = ?", []any{id[:]}
	}
	err = d.read(ctx, func(ctx context.Context, tx querier) error {
		rows, err := tx.QueryContext(ctx, query+" ORDER BY a.time, a.id", args...)
		return eachRow(rows, err, func(rows *sql.Rows) error {
			var state sql.NullInt64
			var notes sql.NullString
			a, err := scanArchive(rows, &state, &notes)
			if err == nil {
				err = fromJSON(notes, &a.Notes)
			}
			a.State = jobState(state)
			list = append(list, a)
			return err
		})
	})
	return list, err
}

// Transcript implements [driver.Archiver].
func (d *database) Transcript(ctx context.Context, digest session.Digest) (t session.Transcript, err error) {
	err = d.read(ctx, func(ctx context.Context, tx querier) error {
		t, err = transcript(ctx, tx, digest)
		return err
	})
	return t, err
}

// transcript reads what was archived and holds it against its digest.
func transcript(ctx context.Context, tx querier, digest session.Digest) (t session.Transcript, err error) {
	var tip, n int64
	err = tx.QueryRowContext(ctx, "SELECT tip, len FROM archives WHERE digest = ? LIMIT 1", digest[:]).Scan(&tip, &n)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: archive %s", driver.ErrNotFound, digest)
	}
	if err != nil {
		return t, err
	}
	const query = `WITH RECURSIVE path (prev, body) AS (
		SELECT prev, body FROM chunks WHERE id = ?
		UNION ALL SELECT c.prev, c.body FROM path CROSS JOIN chunks c ON c.id = path.prev
	) SELECT body FROM path LIMIT ?` // which ends it where a damaged file has a circle
	var chunks []session.Chunk
	rows, err := tx.QueryContext(ctx, query, tip, n+1)
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		var body sql.RawBytes
		var c session.Chunk
		if err := rows.Scan(&body); err != nil {
			return err
		}
		if err := c.UnmarshalJSON(body); err != nil {
			return fmt.Errorf("%w: a chunk of archive %s: %w", ErrDamaged, digest, err)
		}
		chunks = append(chunks, c)
		return nil
	})
	if err != nil {
		return t, err
	}
	slices.Reverse(chunks)
	if t = t.Append(chunks...); t.Digest() != digest {
		return session.Transcript{}, fmt.Errorf("%w: the content of archive %s has changed", ErrDamaged, digest)
	}
	return t, nil
}
