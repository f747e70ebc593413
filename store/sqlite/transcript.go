package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"runtime"
	"slices"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// tip keeps a transcript and returns its last entry. The cost is that of what is new in
// it, whatever its length.
func (w *writer) tip(t session.Transcript, parents []session.Parent) (int64, error) {
	entry, n, err := w.prefix(t, parents)
	if err != nil {
		return 0, err
	}
	for i, c := range t.From(n) {
		if entry, err = w.entry(entry, c, t.First(i+1).Digest()); err != nil {
			return 0, fmt.Errorf("chunk %d: %w", i, err)
		}
	}
	return entry, nil
}

// entry keeps one more chunk.
func (w *writer) entry(prev int64, c session.Chunk, digest session.Digest) (int64, error) {
	data, err := c.MarshalJSON()
	if err != nil {
		return 0, err
	}
	o, err := w.store.pack(data)
	if err != nil {
		return 0, err
	}
	chunk, err := w.object(o)
	if err != nil {
		return 0, err
	}
	id, changed, err := w.insert("INSERT INTO entries (prev, chunk, digest) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING", prev, chunk, digest[:cut])
	if err == nil && changed == 0 {
		_, err = w.row(entryOf, []any{digest[:cut]}, &id)
	}
	return id, err
}

const entryOf = "SELECT id FROM entries WHERE digest = ?"

// prefix returns the last entry of a prefix that is kept, and its length: of the longest
// among those of its parents that are remembered, else of the longest there is.
func (w *writer) prefix(t session.Transcript, parents []session.Parent) (entry int64, n int, err error) {
	found := false
	for _, p := range parents {
		k, ok := w.kept.get(p.ID)
		if ok && k.len >= n && k.len <= t.Len() && t.First(k.len).Digest() == k.digest {
			entry, n, found = k.tip, k.len, true
		}
	}
	if found {
		return entry, n, nil
	}
	return w.longest(t)
}

// longest finds the longest prefix that is kept. All prefixes of what is kept are kept:
// it looks back from the end in growing steps, then bisects.
func (w *writer) longest(t session.Transcript) (entry int64, n int, err error) {
	at := func(n int) bool { // remembers the entry if there is one
		if err != nil {
			return false
		}
		d := t.First(n).Digest()
		var ok bool
		ok, err = w.row(entryOf, []any{d[:cut]}, &entry)
		return ok
	}
	low, high := t.Len(), t.Len()+1 // the answer is below high
	for step := 1; low > 0 && !at(low); step *= 2 {
		low, high = max(low-step, 0), low
	}
	n = low + sort.Search(high-low-1, func(i int) bool { return !at(low + 1 + i) })
	return entry, n, err
}

// path gives a row for where it begins, then the chunks, the last one first: the queue
// of a recursive query is first in, first out. The limit ends it where a damaged file has
// a circle.
const path = `WITH RECURSIVE path (prev, chunk) AS (
	SELECT %s, NULL FROM %s = ?
	UNION ALL SELECT e.prev, e.chunk FROM path CROSS JOIN entries e ON e.id = path.prev
) SELECT o.size, o.body FROM path LEFT JOIN objects o ON o.id = path.chunk LIMIT ?`

var (
	pathOfSession = fmt.Sprintf(path, "tip", "sessions WHERE id")
	pathOfDigest  = fmt.Sprintf(path, "id", "entries WHERE digest")
)

// transcript reads a session's transcript and holds it against its digest.
func (d *database) transcript(ctx context.Context, h session.Head) (session.Transcript, error) {
	t, digest, err := d.walk(ctx, pathOfSession, h.ID[:], h.Len)
	if err == nil && (t.Len() != h.Len || digest != h.Digest) {
		err = errContent
	}
	return t, err
}

// longestTranscript is how many chunks a transcript may have that only its digest is known of.
const longestTranscript = 1 << 24

// Transcript implements [store.Sessions].
func (d *database) Transcript(ctx context.Context, digest session.Digest) (session.Transcript, error) {
	if digest == (session.Digest{}) {
		return session.Transcript{}, nil // the empty one
	}
	t, got, err := d.walk(ctx, pathOfDigest, digest[:cut], longestTranscript)
	if err == nil && got != digest {
		err = errContent
	}
	if err != nil {
		return session.Transcript{}, d.failed("read transcript", digest, err)
	}
	return t, nil
}

// walk reads the chunks of a path, and their digest.
func (d *database) walk(ctx context.Context, path string, from []byte, most int) (t session.Transcript, digest session.Digest, err error) {
	var stored []body
	err = d.each(ctx, func(rows *sql.Rows) error {
		b, err := scanBody(rows)
		stored = append(stored, b)
		return err
	}, path, from, most+2)
	if err != nil {
		return t, digest, err
	}
	if len(stored) == 0 {
		return t, digest, store.ErrNotFound // or it was removed since its head was read
	}
	stored = stored[1:]
	slices.Reverse(stored)
	chunks, err := decode(stored)
	if err != nil {
		return t, digest, err
	}
	sum := sha256.New()
	for _, b := range stored {
		sum.Reset()
		sum.Write(digest[:])
		sum.Write(b.data)
		sum.Sum(digest[:0])
	}
	return t.Append(chunks...), digest, nil
}

// decode inflates bodies, in place, and reads the chunks in them, on all processors if
// there are many.
func decode(stored []body) ([]session.Chunk, error) {
	const few = 512
	chunks := make([]session.Chunk, len(stored))
	var g errgroup.Group
	each := max(few, len(stored)/runtime.GOMAXPROCS(0)+1)
	for from := 0; from < len(stored); from += each {
		to := min(from+each, len(stored))
		g.Go(func() error {
			for i := from; i < to; i++ {
				if err := stored[i].inflate(); err != nil {
					return fmt.Errorf("chunk %d: %w", i, err)
				}
				if err := chunks[i].UnmarshalJSON(stored[i].data); err != nil {
					return fmt.Errorf("chunk %d: %w: %w", i, store.ErrDamaged, err)
				}
			}
			return nil
		})
	}
	return chunks, g.Wait()
}
