package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// writer does the jobs in a goroutine of its own; all but the first fields are used only
// there.
type writer struct {
	store    *database
	queue    *queue
	ended    chan struct{}           // closed when the goroutine has ended
	ctx      context.Context         // ends when other processes are no longer waited for
	giveUp   context.CancelCauseFunc // ends ctx
	patience time.Duration           // of close with other processes

	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	wrote bool // the job at hand has changed something

	version     int64     // changes when another process writes
	others      time.Time // when another process wrote
	collections int64     // how often something was removed
	runs        map[session.ID]*runState
	kept        keptSessions
}

func openWriter(ctx context.Context, d *database) (*writer, error) {
	db, err := sqlitedb.Connect(d.path, "mode=rw", sqlitedb.WriterPragmas)
	if err != nil {
		return nil, err
	}
	w := &writer{store: d, queue: newQueue(), ended: make(chan struct{}), patience: patience, db: db, stmts: map[string]*sql.Stmt{}}
	if err := sqlitedb.UntilFree(ctx, func() error { return w.connect(ctx) }); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	w.ctx, w.giveUp = context.WithCancelCause(context.Background())
	w.forget()
	go w.loop()
	return w, nil
}

func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	if err = schema.Migrate(ctx, w.conn); err != nil {
		_ = w.conn.Close()
	}
	return err
}

// close does what has queued up and ends the goroutine.
func (w *writer) close() error {
	w.queue.close()
	late := time.AfterFunc(w.patience, func() { w.giveUp(store.ErrClosed) })
	<-w.ended
	late.Stop()
	w.giveUp(nil)
	for _, s := range w.stmts {
		_ = s.Close()
	}
	return errors.Join(w.conn.Close(), w.db.Close())
}

// Who waits for the lock only looks now and then whether it is free. So while another
// process writes too, there is a pause after each batch.
const (
	recently = 100 * time.Millisecond
	courtesy = 50 * time.Microsecond
)

func (w *writer) loop() {
	defer close(w.ended)
	for {
		jobs := w.queue.take()
		if len(jobs) == 0 {
			return
		}
		w.batch(jobs)
		if time.Since(w.others) < recently {
			time.Sleep(courtesy)
		}
	}
}

// batch does jobs in one transaction and answers them. If it fails, each is done in a
// transaction of its own, so that a bad one does not harm the others.
func (w *writer) batch(jobs []*job) {
	var errs []error
	err := sqlitedb.UntilFree(w.ctx, func() (err error) {
		errs, err = w.try(jobs)
		return err
	})
	if err != nil && len(jobs) > 1 {
		for i := range jobs {
			w.batch(jobs[i : i+1])
		}
		return
	}
	for i, j := range jobs {
		problem := err
		if problem == nil {
			problem = errs[i]
		}
		if problem != nil {
			problem = w.store.failed(j.op, j.on, problem)
		}
		j.done <- problem
	}
}

// try gives the errors of the jobs, or the one for which nothing was kept. A job that
// was refused before it changed anything does not stand in the way of the rest; an error
// of SQLite does, for it may have ended the transaction.
func (w *writer) try(jobs []*job) (errs []error, err error) {
	if err := w.begin(); err != nil {
		return nil, err
	}
	errs = make([]error, len(jobs))
	for i, j := range jobs {
		if !j.turn.Begin() {
			continue
		}
		w.wrote = false
		if errs[i] = j.do(w); errs[i] != nil && (w.wrote || sqlitedb.Native(errs[i]) != nil) {
			w.rollback()
			return nil, errs[i]
		}
	}
	if err := w.control("COMMIT"); err != nil {
		w.rollback()
		return nil, err
	}
	return errs, nil
}

// begin takes the right to write. What is remembered is forgotten if another process has
// changed it.
func (w *writer) begin() error {
	if err := w.control("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := w.refresh(); err != nil {
		w.rollback()
		return err
	}
	return nil
}

func (w *writer) refresh() error {
	before := w.version
	if _, err := w.row("PRAGMA data_version", nil, &w.version); err != nil || w.version == before {
		return err
	}
	if before >= 0 {
		w.others = time.Now()
	}
	clear(w.runs)
	collections := w.collections
	_, err := w.row("SELECT count FROM collections", nil, &w.collections)
	if w.collections != collections {
		w.kept = keptSessions{}
	}
	return err
}

// rollback undoes what was done. It may be undone already: SQLite does that by itself
// when the disk is full.
func (w *writer) rollback() {
	_ = w.control("ROLLBACK")
	w.forget()
}

// forget drops what is remembered of rows.
func (w *writer) forget() {
	w.version, w.collections = -1, -1
	w.runs, w.kept = map[session.ID]*runState{}, keptSessions{}
}

func (w *writer) stmt(query string) (*sql.Stmt, error) {
	if s := w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), query)
	if err == nil {
		w.stmts[query] = s
	}
	return s, err
}

// control runs a statement that begins or ends a transaction.
func (w *writer) control(query string) error {
	s, err := w.stmt(query)
	if err == nil {
		_, err = s.ExecContext(context.Background())
	}
	return err
}

// exec runs a statement and reports how many rows it changed.
func (w *writer) exec(query string, args ...any) (int64, error) {
	_, n, err := w.insert(query, args...)
	return n, err
}

// insert is exec that also gives the last row's number.
func (w *writer) insert(query string, args ...any) (id, changed int64, err error) {
	var res sql.Result
	s, err := w.stmt(query)
	if err == nil {
		res, err = s.ExecContext(context.Background(), args...)
	}
	if err != nil {
		w.wrote = true
		return 0, 0, err
	}
	if changed, err = res.RowsAffected(); changed > 0 {
		w.wrote = true
		id, err = res.LastInsertId()
	}
	return id, changed, err
}

// row reads one row, and reports whether there is one.
func (w *writer) row(query string, args []any, dest ...any) (bool, error) {
	s, err := w.stmt(query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(context.Background(), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls f for every row that a query gives.
func (w *writer) each(f func(*sql.Rows) error, query string, args ...any) error {
	s, err := w.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	return eachRow(rows, err, f)
}
