package local

import (
	"context"
	"database/sql"

	"github.com/openrath-go/rath/memory/driver"
)

// PutExtra implements [driver.Extras].
func (d *database) PutExtra(ctx context.Context, name string, data []byte) error {
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	return d.write(ctx, func(ctx context.Context, tx execer) error {
		return exec(ctx, tx, "INSERT INTO extras (name, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data", name, data)
	})
}

// EachExtra implements [driver.Extras].
func (d *database) EachExtra(ctx context.Context, f func(name string, data []byte) error) error {
	return d.read(ctx, func(ctx context.Context, tx querier) error {
		rows, err := tx.QueryContext(ctx, "SELECT name, data FROM extras ORDER BY name")
		return eachRow(rows, err, func(rows *sql.Rows) error {
			var name string
			var data []byte
			if err := rows.Scan(&name, &data); err != nil {
				return err
			}
			return f(name, data)
		})
	})
}

// Stats implements [driver.Counter].
func (d *database) Stats(ctx context.Context) (s driver.Stats, err error) {
	err = d.read(ctx, func(ctx context.Context, tx querier) error {
		s.Notes = map[string]int{}
		for _, scope := range driver.Scopes {
			low, high := below(driver.Root.Join(scope))
			var n int
			if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM notes WHERE uri > ? AND uri < ?", low, high).Scan(&n); err != nil {
				return err
			}
			s.Notes[scope] = n
		}
		const query = `SELECT (SELECT count(*) FROM notes WHERE until <> 0), (SELECT count(*) FROM archives),
			(SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)`
		if err := tx.QueryRowContext(ctx, query).Scan(&s.Ended, &s.Archives, &s.Bytes); err != nil {
			return err
		}
		if err := pending(ctx, tx, &s.Pending, &s.Failed); err != nil {
			return err
		}
		return d.index.stats(ctx, tx, &s)
	})
	return s, err
}
