package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Why a file is refused.
var (
	ErrForeign = errors.New("it is the database of another program")
	ErrOlder   = errors.New("it is of an older version, and is to be read only")
)

// Schema is what a file holds. Its version is the number of migrations that were done.
type Schema struct {
	Application int      // marks the file as ours
	Newer       error    // is wrapped where the file is of a newer version
	Migrations  []string // lead from each version to the next
}

// Querier is a connection, or many.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Migrate brings the file up to date. It looks again once it has the file for itself:
// another process may have done it meanwhile.
func (s *Schema) Migrate(ctx context.Context, c *sql.Conn) (err error) {
	if v, err := s.version(ctx, c); err != nil || v == len(s.Migrations) {
		return err
	}
	if _, err := c.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	if _, err := c.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	v, err := s.version(ctx, c)
	if err != nil {
		return err
	}
	for _, m := range s.Migrations[v:] {
		if _, err := c.ExecContext(ctx, m); err != nil {
			return fmt.Errorf("bring the store from version %d to %d: %w", v, len(s.Migrations), err)
		}
	}
	_, err = c.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", s.Application, len(s.Migrations)))
	return err
}

// Check is for those who may not migrate.
func (s *Schema) Check(ctx context.Context, q Querier) error {
	v, err := s.version(ctx, q)
	if err == nil && v < len(s.Migrations) {
		return ErrOlder
	}
	return err
}

// version reads the schema's version and refuses what is not ours.
func (s *Schema) version(ctx context.Context, q Querier) (v int, err error) {
	var app, tables int
	const query = "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id a, pragma_user_version v"
	if err := q.QueryRowContext(ctx, query).Scan(&app, &v, &tables); err != nil {
		return 0, err
	}
	switch {
	case app != s.Application && (app != 0 || v != 0 || tables != 0):
		return 0, ErrForeign
	case v > len(s.Migrations):
		return 0, fmt.Errorf("%w: its version is %d, this program knows %d", s.Newer, v, len(s.Migrations))
	}
	return v, nil
}
