package local

import (
	"context"
	"database/sql"
	"errors"
)

// querier reads. It is a connection within a transaction, so that all of its answers are
// of one moment. Statements are prepared once for each connection and text: texts should
// not hold values.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// execer reads and writes, within a transaction that may still be undone.
type execer interface {
	querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// The database and the index that finds notes agree on this:
//
//   - newIndex(d *database, o *Options) (*index, error) makes it once the file has its
//     schema, which indexSchema is a part of. close ends what it does in the background.
//     From the moment at which the database is being closed, reads and writes fail with
//     [driver.ErrClosed].
//   - put(ctx, tx execer, id int64, n driver.Note) error comes after a note's row was
//     written. drop(ctx, tx execer, id int64) error comes before the row changes or goes,
//     so that it can still be read. A note whose Text, Title, Context or About has
//     changed is dropped and put again; of other changes the index is not told.
//     Both are in the transaction of the row and remember nothing outside of it, for it
//     may be undone; neither waits for a network. Other processes write too.
//   - find(ctx, q driver.Query) (driver.Found, error) and what runs in the background use
//     [database.read] and [database.write].
//   - stats(ctx, tx querier, s *driver.Stats) error fills in what is known of vectors.
//   - capabilities(c *driver.Capabilities) sets what it can do now.
//   - A note's row has its URI alone: a move changes nothing else.

// scanner is a row of either kind.
type scanner interface{ Scan(dest ...any) error }

// eachRow calls f for every row that a query gives, until f fails.
func eachRow(rows *sql.Rows, err error, f func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// exec runs a statement whose result does not matter.
func exec(ctx context.Context, tx execer, query string, args ...any) error {
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

// exists tells an error of Scan that there is no row from others.
func exists(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
