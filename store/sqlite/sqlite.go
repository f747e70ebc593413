// Package sqlite keeps a [store.Store] in one SQLite file, in pure Go.
//
// All writes pass through one goroutine that puts whatever has queued up into one
// transaction, so callers share the wait for the disk. Reads have connections of their
// own and do not wait for writes. Several processes may use one file.
//
// Next: [github.com/openrath-go/rath/store/jsonl], the files of OpenRath.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/store"
)

// Options say how a store is opened. The zero Options are good.
type Options struct {
	MaxObject int64            // the largest object and the largest chunk, in bytes; 0: 64 MiB
	ReadOnly  bool             // write nothing; the file must be there
	Now       func() time.Time // the clock of leases and states; nil: time.Now
}

const defaultMaxObject = 64 << 20

// patience is how long Close waits for another process that holds the file locked.
const patience = 10 * time.Second

// database is the store.
type database struct {
	path    string
	max     int64
	now     func() time.Time
	readers *pool
	writer  *writer // nil: read only
	closed  atomic.Bool
	close   func() error
}

var _ store.Store = (*database)(nil)

// Open opens the store in a file. The file, for the user alone, and its folder are made
// if they are not there; a file of an older version is brought up to date. Errors are of
// type [*Error]: [store.ErrNewer], [store.ErrDamaged], [ErrFull], [fs.ErrPermission],
// [fs.ErrNotExist].
func Open(ctx context.Context, path string, o *Options) (store.Store, error) {
	if o == nil {
		o = &Options{}
	}
	path, err := filepath.Abs(path)
	if err == nil {
		err = sqlitedb.Prepare(path, o.ReadOnly)
	}
	if err != nil {
		return nil, explain(path, err)
	}
	d := &database{path: path, max: cmp.Or(o.MaxObject, defaultMaxObject), now: o.Now}
	if d.now == nil {
		d.now = time.Now
	}
	if err := d.open(ctx, o.ReadOnly); err != nil {
		return nil, explain(path, err)
	}
	return d, nil
}

func (d *database) open(ctx context.Context, readOnly bool) (err error) {
	d.close = sync.OnceValue(d.shut)
	if readOnly {
		return d.openReadOnly(ctx)
	}
	if d.writer, err = openWriter(ctx, d); err != nil {
		return err
	}
	readers, err := sqlitedb.Connect(d.path, "mode=rw", sqlitedb.ReaderPragmas)
	if err != nil {
		return errors.Join(err, d.writer.close())
	}
	d.readers = newPool(readers)
	return nil
}

// openReadOnly opens the file for reading beside those who write it. Where not even its
// index can be written, as on a CD, it is taken for one that does not change.
func (d *database) openReadOnly(ctx context.Context) error {
	var errs []error
	for _, mode := range []string{"mode=ro", "mode=ro&immutable=1"} {
		readers, err := sqlitedb.Connect(d.path, mode, sqlitedb.ReaderPragmas)
		if err != nil {
			return err
		}
		if err = sqlitedb.UntilFree(ctx, func() error { return schema.Check(ctx, readers) }); err == nil {
			d.readers = newPool(readers)
			return nil
		}
		errs = append(errs, err, readers.Close())
		if wal, _ := os.Stat(d.path + "-wal"); !sqlitedb.Unwritable(err) || wal != nil && wal.Size() > 0 {
			break // what is in the log would not be seen
		}
	}
	return errors.Join(errs...)
}

// Close writes what has queued up and closes the file.
func (d *database) Close() error { return d.close() }

func (d *database) shut() error {
	d.closed.Store(true)
	var err error
	if d.writer != nil {
		err = d.writer.close()
	}
	if err := errors.Join(err, d.readers.close()); err != nil {
		return fmt.Errorf("close: %w", explain(d.path, err))
	}
	return nil
}

// do has the writer do a job and waits for it. When ctx ends first, the job either is not
// done at all, or has begun and is waited for.
func (d *database) do(ctx context.Context, op string, on any, size int, do func(*writer) error) error {
	j := &job{op: op, on: on, size: int64(size), do: do, done: make(chan error, 1)}
	if err := d.put(ctx, j); err != nil {
		return d.failed(op, on, err)
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		if j.turn.Withdraw() {
			return d.failed(op, on, context.Cause(ctx))
		}
		return <-j.done
	}
}

func (d *database) put(ctx context.Context, j *job) error {
	switch {
	case d.closed.Load():
		return store.ErrClosed
	case d.writer == nil:
		return ErrReadOnly
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return d.writer.queue.put(ctx, j)
}

// errStop ends the reading of rows that nobody wants any more.
var errStop = errors.New("stop")

// each calls f for every row that a query gives, until f fails.
func (d *database) each(ctx context.Context, f func(*sql.Rows) error, query string, args ...any) error {
	if d.closed.Load() {
		return store.ErrClosed
	}
	rows, err := d.readers.query(ctx, query, args...)
	if err != nil && d.closed.Load() {
		return store.ErrClosed
	}
	return eachRow(rows, err, f)
}

func eachRow(rows *sql.Rows, err error, f func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			if err == errStop {
				return nil
			}
			return err
		}
	}
	return rows.Err()
}

// failed says what was attempted on what.
func (d *database) failed(op string, on any, err error) error {
	if on == nil {
		return fmt.Errorf("%s: %w", op, explain(d.path, err))
	}
	return fmt.Errorf("%s %v: %w", op, on, explain(d.path, err))
}
