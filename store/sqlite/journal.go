package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// commit has the writer do a job, and does not wait for it. What can be done before is
// done in the caller's goroutine.
func (d *database) commit(ctx context.Context, op string, run session.ID, b store.Batch, do func(*writer, []object) error) store.Commit {
	j := &job{op: op, on: run, size: int64(len(b.Sessions) * sessionSize), lazy: b.Lazy, done: make(chan error, 1)}
	objects := make([]object, len(b.Objects))
	var err error
	for i, data := range b.Objects {
		if objects[i], err = d.pack(data); err != nil {
			break
		}
		j.size += int64(len(objects[i].body))
	}
	for _, e := range b.Events {
		j.size += int64(len(e.Body))
	}
	digest(b.Sessions)
	j.do = func(w *writer) error {
		if err != nil {
			return err // in its turn, so that it is the first to fail
		}
		return do(w, objects)
	}
	if err := d.put(ctx, j); err != nil {
		j.done <- d.failed(op, run, err)
	}
	return j.done
}

// Append implements [store.Journal].
func (d *database) Append(ctx context.Context, l store.Lease, b store.Batch) store.Commit {
	return d.commit(ctx, "append to run", l.Run, b, func(w *writer, objects []object) error {
		if _, err := w.lease(l); err != nil {
			return err
		}
		return w.append(l.Run, b, objects)
	})
}

// append keeps a batch.
func (w *writer) append(run session.ID, b store.Batch, objects []object) error {
	r, err := w.state(run)
	if err != nil {
		return err
	}
	head := r.head
	for _, e := range b.Events {
		if !e.Follows(head) {
			return fmt.Errorf("event %d does not follow event %d", e.Seq, head.Seq)
		}
		head = e.Head()
	}
	for _, e := range b.Events {
		if _, err := w.exec("INSERT INTO events (run, seq, time, kind, body, hash) VALUES (?, ?, ?, ?, ?, ?)",
			r.num, e.Seq, e.Time.UnixMicro(), e.Kind, []byte(e.Body), e.Hash[:]); err != nil {
			return err
		}
	}
	for _, o := range objects {
		if _, err := w.object(o); err != nil {
			return err
		}
	}
	if err := w.sessions(b.Sessions); err != nil {
		return err
	}
	r.head = head
	return w.enter(r, b.State)
}

// enter changes the state of a run. One that has ended has no lease any more.
func (w *writer) enter(r *runState, s *store.StateChange) error {
	if s == nil {
		return nil
	}
	if s.State.Ended() {
		r.ended, r.held = true, false
	}
	_, err := w.exec(`UPDATE runs SET state = ?, output = coalesce(?, output), error = ?, updated = ?,
	owner = CASE WHEN ? THEN coalesce(?, owner) END, expires = CASE WHEN ? THEN expires ELSE 0 END WHERE num = ?`,
		string(s.State), idColumn(s.Output), textColumn(s.Error), micros(w.store.now()), r.held, textColumn(s.Owner), r.held, r.num)
	return err
}

// Events implements [store.Journal]. It yields only what the hashes confirm.
func (d *database) Events(ctx context.Context, run session.ID, after int64) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		var head store.Head
		err := d.each(ctx, func(rows *sql.Rows) error {
			e, err := scanEvent(rows)
			switch {
			case err != nil:
				return err
			case e.Seq == after: // read for its hash
				head = e.Head()
				return nil
			case !e.Follows(head):
				return fmt.Errorf("event %d: %w", head.Seq+1, store.ErrDamaged)
			}
			if head = e.Head(); !yield(e, nil) {
				return errStop
			}
			return nil
		}, `SELECT seq, time, kind, body, hash FROM events
WHERE run = (SELECT num FROM runs WHERE id = ?) AND seq >= ? ORDER BY seq`, run[:], after)
		if err != nil {
			yield(store.Event{}, d.failed("read the events of run", run, err))
		}
	}
}

func scanEvent(rows *sql.Rows) (e store.Event, err error) {
	var micros int64
	var hash sql.RawBytes
	err = rows.Scan(&e.Seq, &micros, &e.Kind, (*[]byte)(&e.Body), &hash)
	e.Time = time.UnixMicro(micros).UTC()
	copy(e.Hash[:], hash)
	return e, err
}
