package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/openrath-go/rath/internal/sqlitedb"
)

// pool is the connections that read. There is no limit to their number: who reads
// while iterating holds two.
type pool struct {
	db    *sql.DB
	mu    sync.Mutex
	stmts map[string]*sql.Stmt
}

// maxPrepared is more than the queries that the source text knows; those that are put
// together from filters have few forms too.
const maxPrepared = 64

func newPool(db *sql.DB) *pool {
	db.SetMaxIdleConns(4)
	return &pool{db: db, stmts: map[string]*sql.Stmt{}}
}

func (p *pool) query(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	err = sqlitedb.UntilFree(ctx, func() error {
		s, err := p.prepared(ctx, query)
		switch {
		case err != nil:
			return err
		case s != nil:
			rows, err = s.QueryContext(ctx, args...)
		default:
			rows, err = p.db.QueryContext(ctx, query, args...)
		}
		return err
	})
	return rows, err
}

func (p *pool) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.stmts[query]; s != nil || len(p.stmts) == maxPrepared {
		return s, nil
	}
	s, err := p.db.PrepareContext(ctx, query)
	if err == nil {
		p.stmts[query] = s
	}
	return s, err
}

func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, p.db.Close())...)
}
