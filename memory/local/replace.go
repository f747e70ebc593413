package local

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/openrath-go/rath/memory/driver"
)

// digestOf is the digest of the document that a note is a piece of. Queries have it as the
// index has, letter by letter, or they do not use it.
const digestOf = "source ->> '$.sha256'"

// documentSchema finds documents by their digests.
const documentSchema = "\nCREATE INDEX notes_document ON notes (" + digestOf + ", uri) WHERE " + digestOf + " IS NOT NULL;"

var _ driver.Documents = (*database)(nil)

// PutDocument implements [driver.Documents].
func (d *database) PutDocument(ctx context.Context, folder driver.URI, was string, pieces []driver.Note) error {
	return d.edit(ctx, func(ctx context.Context, e *edit) error {
		there, err := e.pieces(ctx, folder)
		if err != nil {
			return err
		}
		if now := there.digest(); now != was {
			return fmt.Errorf("%w: %s has the document %q and not %q", driver.ErrConflict, folder, now, was)
		}
		for _, n := range pieces {
			if there.others[n.URI] {
				return fmt.Errorf("%w: %s is no piece of a document", driver.ErrExists, n.URI)
			}
		}
		if _, err := e.putAll(ctx, driver.Replace, pieces); err != nil {
			return err
		}
		return e.remove(ctx, there.without(pieces))
	})
}

// pieced is what is directly in a folder.
type pieced struct {
	pieces []piece
	others map[driver.URI]bool // notes that are pieces of nothing
}

type piece struct {
	id     int64
	uri    driver.URI
	digest string
}

// pieces reads what is directly in a folder, in order of URIs.
func (e *edit) pieces(ctx context.Context, folder driver.URI) (pieced, error) {
	all := pieced{others: map[driver.URI]bool{}}
	low, high := below(folder)
	const query = "SELECT id, uri, " + digestOf + " FROM notes WHERE uri > ? AND uri < ? AND instr(substr(uri, ?), '/') = 0 ORDER BY uri"
	rows, err := e.tx.QueryContext(ctx, query, low, high, utf8.RuneCountInString(low)+1)
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		var p piece
		var digest sql.NullString
		err := rows.Scan(&p.id, &p.uri, &digest)
		if p.digest = digest.String; p.digest == "" {
			all.others[p.uri] = true
		} else {
			all.pieces = append(all.pieces, p)
		}
		return err
	})
	return all, err
}

func (p pieced) digest() string {
	if len(p.pieces) == 0 {
		return ""
	}
	return p.pieces[0].digest
}

// without are the pieces whose URIs no note has.
func (p pieced) without(notes []driver.Note) (ids []int64) {
	kept := make(map[driver.URI]bool, len(notes))
	for _, n := range notes {
		kept[n.URI] = true
	}
	for _, old := range p.pieces {
		if !kept[old.uri] {
			ids = append(ids, old.id)
		}
	}
	return ids
}

// documentsOf gives the pieces of a document, by the index alone.
const documentsOf = "SELECT uri FROM notes WHERE " + digestOf + " = ? AND " + digestOf + " IS NOT NULL AND uri > ? AND uri < ? ORDER BY uri"

// fewFolders is how many places of one document are told.
const fewFolders = 16

// FindDocument implements [driver.Documents].
func (d *database) FindDocument(ctx context.Context, digest string, under driver.URI) (folders []driver.URI, err error) {
	low, high := below(under)
	err = d.read(ctx, func(ctx context.Context, tx querier) error {
		rows, err := tx.QueryContext(ctx, documentsOf, digest, low, high)
		if err != nil {
			return err
		}
		defer rows.Close()
		for len(folders) < fewFolders && rows.Next() {
			var uri driver.URI
			if err := rows.Scan(&uri); err != nil {
				return err
			}
			if f := uri.Parent(); !slices.Contains(folders, f) {
				folders = append(folders, f)
			}
		}
		return rows.Err()
	})
	return folders, err
}
