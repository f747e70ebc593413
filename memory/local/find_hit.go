package local

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/openrath-go/rath/memory/driver"
)

// hits reads the notes that were found.
func (s *search) hits(all []candidate) ([]driver.Hit, error) {
	ids := make([]int64, len(all))
	for i, c := range all {
		ids[i] = c.id
	}
	notes := map[int64]driver.Note{}
	rows, err := byID(s.ctx, s.tx, "SELECT "+noteColumns+" FROM notes WHERE id IN (SELECT value FROM json_each(?))", ids)
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		id, n, err := scanNote(rows)
		notes[id] = n
		return err
	})
	if err != nil {
		return nil, err
	}
	hits := make([]driver.Hit, 0, len(all))
	for _, c := range all {
		hit := driver.Hit{Note: notes[c.id], Score: c.score, Words: c.words, Meaning: c.meaning}
		hit.Snippet, hit.Whole = s.snippet(hit.Text)
		hit.Text = ""
		hits = append(hits, hit)
	}
	return hits, nil
}

// byID runs a query whose first parameter is a JSON array of ids.
func byID(ctx context.Context, tx querier, query string, ids []int64, args ...any) (*sql.Rows, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	return tx.QueryContext(ctx, query, append([]any{string(list)}, args...)...)
}
