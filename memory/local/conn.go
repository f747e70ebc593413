package local

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/openrath-go/rath/internal/sqlitedb"
)

// conn is a connection with its prepared statements. It is an execer, for one user at a
// time.
type conn struct {
	*sql.Conn
	stmts map[string]*sql.Stmt
}

// maxPrepared is more than the statements that the source text knows; those that are put
// together from filters have few forms too.
const maxPrepared = 128

func newConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{c, map[string]*sql.Stmt{}}, nil
}

// stmt prepares a statement once. It gives none if there are too many, or an error that
// comes again when the statement is run without.
func (c *conn) stmt(ctx context.Context, query string) *sql.Stmt {
	if s := c.stmts[query]; s != nil || len(c.stmts) == maxPrepared {
		return s
	}
	s, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	c.stmts[query] = s
	return s
}

func (c *conn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if s := c.stmt(ctx, query); s != nil {
		return s.ExecContext(ctx, args...)
	}
	return c.Conn.ExecContext(ctx, query, args...)
}

func (c *conn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := c.stmt(ctx, query); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return c.Conn.QueryContext(ctx, query, args...)
}

func (c *conn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := c.stmt(ctx, query); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return c.Conn.QueryRowContext(ctx, query, args...)
}

func (c *conn) close() error {
	for _, s := range c.stmts {
		_ = s.Close()
	}
	return c.Conn.Close()
}

// readers are the connections that read. There is no limit to their number: who reads
// within a reading holds two.
type readers struct {
	db   *sql.DB
	mu   sync.Mutex
	idle []*conn
}

// maxIdle is how many connections wait for readers to come.
const maxIdle = 8

// do calls f with a connection, in a transaction.
func (r *readers) do(ctx context.Context, f func(context.Context, querier) error) error {
	c, err := r.take(ctx)
	if err != nil {
		return err
	}
	err = sqlitedb.UntilFree(ctx, func() error { return exec(ctx, c, "BEGIN") })
	if err == nil {
		err = f(ctx, c)
	}
	if exec(context.WithoutCancel(ctx), c, "ROLLBACK") != nil {
		return errors.Join(err, c.close()) // it has not begun, or is lost
	}
	return errors.Join(err, r.give(c))
}

func (r *readers) take(ctx context.Context) (*conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.idle); n > 0 {
		c := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return c, nil
	}
	return newConn(ctx, r.db)
}

func (r *readers) give(c *conn) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.idle) == maxIdle {
		return c.close()
	}
	r.idle = append(r.idle, c)
	return nil
}

// close comes when nobody reads any more.
func (r *readers) close() error {
	var errs []error
	for _, c := range r.idle {
		errs = append(errs, c.close())
	}
	return errors.Join(append(errs, r.db.Close())...)
}
