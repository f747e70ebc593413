// Package local keeps a memory in one SQLite file, in pure Go.
//
// All writes of a process pass through one goroutine that puts whatever has queued up
// into one transaction, so callers share the wait for the disk. Reads have connections of
// their own and do not wait for writes. Several processes may use one file.
//
// Next: [github.com/openrath-go/rath/memory/openviking], one on a server.
package local

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/driver"
)

// FileName is the file in a memory's folder. SQLite has others beside it while it is open.
const FileName = "memory.db"

// database is the driver's store.
type database struct {
	path    string
	lease   time.Duration
	now     func() time.Time
	writer  *writer
	readers *readers
	index   *index
	close   func() error

	mu     sync.Mutex
	closed bool
	users  sync.WaitGroup // methods that are under way
}

var (
	_ driver.Store    = (*database)(nil)
	_ driver.Archiver = (*database)(nil)
	_ driver.Extras   = (*database)(nil)
	_ driver.Counter  = (*database)(nil)
)

// Open opens the memory in a folder. The file in it, for the user alone, and the folder are
// made if they are not there; a file of an older version is brought up to date. Errors are
// of type [*Error]: [ErrNewer], [ErrDamaged], [ErrFull], [fs.ErrPermission].
func Open(ctx context.Context, dir string, o *Options) (*memory.Store, error) {
	d, err := open(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &Options{}
	}
	return memory.New(d, o.Memory), nil
}

// OpenDriver is Open for those who test or wrap drivers.
func OpenDriver(ctx context.Context, dir string, o *Options) (driver.Store, error) {
	return open(ctx, dir, o)
}

func open(ctx context.Context, dir string, o *Options) (*database, error) {
	if o == nil {
		o = &Options{}
	}
	path, err := filepath.Abs(filepath.Join(dir, FileName))
	if err == nil {
		err = sqlitedb.Prepare(path, false)
	}
	if err != nil {
		return nil, explain(ctx, path, err)
	}
	d := &database{path: path, lease: cmp.Or(o.Lease, defaultLease), now: o.Now}
	if d.now == nil {
		d.now = time.Now
	}
	d.close = sync.OnceValue(d.shut)
	if err := d.open(ctx, o); err != nil {
		return nil, explain(ctx, path, err)
	}
	return d, nil
}

func (d *database) open(ctx context.Context, o *Options) (err error) {
	if d.writer, err = openWriter(ctx, d.path); err != nil {
		return err
	}
	db, err := sqlitedb.Connect(d.path, "mode=rw", sqlitedb.ReaderPragmas)
	if err != nil {
		return errors.Join(err, d.writer.close())
	}
	d.readers = &readers{db: db}
	if d.index, err = newIndex(d, o); err != nil {
		return errors.Join(err, d.readers.close(), d.writer.close())
	}
	return nil
}

// Capabilities implements [driver.Store].
func (d *database) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Metadata: true, Merge: true, Atomic: true, Move: true, Archive: true}
	d.index.capabilities(&c)
	return c
}

// Find implements [driver.Store].
func (d *database) Find(ctx context.Context, q driver.Query) (driver.Found, error) {
	found, err := d.index.find(ctx, q)
	return found, explain(ctx, d.path, err)
}

// Close implements [driver.Store].
func (d *database) Close() error { return d.close() }

func (d *database) shut() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	err := d.index.close()
	d.users.Wait()
	return explain(context.Background(), d.path, errors.Join(err, d.readers.close(), d.writer.close()))
}

// enter begins a method, unless the memory is closed. It ends with users.Done.
func (d *database) enter() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return driver.ErrClosed
	}
	d.users.Add(1)
	return nil
}

// read calls f with a view of one moment.
func (d *database) read(ctx context.Context, f func(ctx context.Context, tx querier) error) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.users.Done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return explain(ctx, d.path, d.readers.do(ctx, f))
}

// write calls f to change something, all of it or, if f or the disk fails, nothing. It may
// be called several times. When write returns without an error, what was changed is on
// disk. The context that f gets does not end: what has begun is brought to its end.
func (d *database) write(ctx context.Context, f func(ctx context.Context, tx execer) error) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.users.Done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return explain(ctx, d.path, d.writer.do(ctx, f))
}
