package local

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"time"

	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/memory/driver"
)

// change is something to write.
type change struct {
	do   func(context.Context, execer) error
	done chan error // has room for the answer
	turn sqlitedb.Turn
}

// maxBatch is how many changes share a transaction, and how many wait for the next.
const maxBatch = 256

// patience is how long Close waits for another process that holds the file locked.
const patience = 10 * time.Second

// writer makes changes in a goroutine of its own, those that have come meanwhile in one
// transaction: they share the wait for the disk.
type writer struct {
	path    string
	db      *sql.DB
	conn    *conn
	changes chan *change
	ended   chan struct{}           // closed when the goroutine has ended
	ctx     context.Context         // ends when other processes are no longer waited for
	giveUp  context.CancelCauseFunc // ends ctx

	version int64     // changes when another process writes
	others  time.Time // when another process wrote
	long    int64     // the size of the log at which it is begun anew
}

func openWriter(ctx context.Context, path string) (*writer, error) {
	db, err := sqlitedb.Connect(path, "mode=rw", sqlitedb.WriterPragmas)
	if err != nil {
		return nil, err
	}
	w := &writer{path: path, long: maxLog, db: db, changes: make(chan *change, maxBatch), ended: make(chan struct{}), version: -1}
	if err := sqlitedb.UntilFree(ctx, func() error { return w.connect(ctx) }); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	w.ctx, w.giveUp = context.WithCancelCause(context.Background())
	go w.loop()
	return w, nil
}

func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn, err = newConn(ctx, w.db); err != nil {
		return err
	}
	if err = schema.Migrate(ctx, w.conn.Conn); err != nil {
		_ = w.conn.close()
	}
	return err
}

// do has a change made and waits for it. When ctx ends first, it either is not made at
// all, or has begun and is waited for.
func (w *writer) do(ctx context.Context, f func(context.Context, execer) error) error {
	c := &change{do: f, done: make(chan error, 1)}
	select {
	case w.changes <- c:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		if c.turn.Withdraw() {
			return context.Cause(ctx)
		}
		return <-c.done
	}
}

// close makes what has queued up and ends the goroutine. Nobody brings changes any more.
func (w *writer) close() error {
	close(w.changes)
	late := time.AfterFunc(patience, func() { w.giveUp(driver.ErrClosed) })
	<-w.ended
	late.Stop()
	w.giveUp(nil)
	return errors.Join(w.conn.close(), w.db.Close())
}

// Who waits for the lock only looks now and then whether it is free. So while another
// process writes too, there is a pause after each batch.
const (
	recently = 100 * time.Millisecond
	courtesy = 50 * time.Microsecond
)

func (w *writer) loop() {
	defer close(w.ended)
	for first := range w.changes {
		w.batch(w.gather(first))
		w.shorten()
		if time.Since(w.others) < recently {
			time.Sleep(courtesy)
		}
	}
}

// maxLog is how long the log gets: SQLite by itself does not begin it anew as long as
// there is always somebody who reads.
const maxLog = 16 << 20

// shorten begins a long log anew. That waits for those who read it now; if they take too
// long it is tried again when the log is longer still.
func (w *writer) shorten() {
	info, err := os.Stat(w.path + "-wal")
	if err != nil || info.Size() < w.long {
		return
	}
	var busy, frames, done int
	ctx := context.WithoutCancel(w.ctx)
	err = exec(ctx, w.conn, "PRAGMA busy_timeout = 500")
	if err == nil {
		err = w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done)
	}
	if w.long = maxLog; err != nil || busy != 0 {
		w.long = info.Size() + maxLog
	}
	_ = exec(ctx, w.conn, "PRAGMA busy_timeout = 0") // else it only waits longer
}

// gather takes what else is there.
func (w *writer) gather(first *change) []*change {
	batch := []*change{first}
	for len(batch) < maxBatch {
		select {
		case c, ok := <-w.changes:
			if !ok {
				return batch
			}
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}

// batch makes changes in one transaction and answers them. If that fails, each is made in
// a transaction of its own, so that one that is too large does not harm the others.
func (w *writer) batch(changes []*change) {
	var errs []error
	err := sqlitedb.UntilFree(w.ctx, func() (err error) {
		errs, err = w.try(changes)
		return err
	})
	if err != nil && len(changes) > 1 {
		for i := range changes {
			w.batch(changes[i : i+1])
		}
		return
	}
	for i, c := range changes {
		if err != nil {
			c.done <- err
		} else {
			c.done <- errs[i]
		}
	}
}

// try gives the errors of the changes, each of which is undone by itself, or the one for
// which nothing was kept.
func (w *writer) try(changes []*change) (errs []error, err error) {
	ctx := context.WithoutCancel(w.ctx) // what has begun is brought to its end
	if err := exec(ctx, w.conn, "BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil { // SQLite may have done it by itself, when the disk is full
			_ = exec(ctx, w.conn, "ROLLBACK")
		}
	}()
	if err := w.look(ctx); err != nil {
		return nil, err
	}
	errs = make([]error, len(changes))
	for i, c := range changes {
		if !c.turn.Begin() {
			continue
		}
		if errs[i], err = w.make(ctx, c); err != nil {
			return nil, err
		}
	}
	return errs, exec(ctx, w.conn, "COMMIT")
}

// make makes a change. If the change fails, it is undone; lost is why the transaction is
// gone with it.
func (w *writer) make(ctx context.Context, c *change) (failed, lost error) {
	if err := exec(ctx, w.conn, "SAVEPOINT change"); err != nil {
		return nil, err
	}
	if failed = c.do(ctx, w.conn); failed != nil {
		if exec(ctx, w.conn, "ROLLBACK TO change") != nil || sqlitedb.Full(failed) || sqlitedb.Busy(failed) {
			return nil, failed
		}
	}
	return failed, exec(ctx, w.conn, "RELEASE change")
}

// look notices whether another process has written.
func (w *writer) look(ctx context.Context) error {
	before := w.version
	if err := w.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&w.version); err != nil {
		return err
	}
	if before >= 0 && w.version != before {
		w.others = time.Now()
	}
	return nil
}
