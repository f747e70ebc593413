package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// runState is what the writer remembers of a run.
type runState struct {
	num   int64
	head  store.Head
	fence int64
	held  bool // somebody has the lease, maybe beyond its time
	ended bool
}

const maxRuns = 1 << 12 // remembered

// state reads what an append needs to know. It is remembered until another process
// writes.
func (w *writer) state(id session.ID) (*runState, error) {
	if r := w.runs[id]; r != nil {
		return r, nil
	}
	var r runState
	var state store.State
	var seq sql.NullInt64
	var hash []byte
	found, err := w.row(`SELECT r.num, r.fence, r.owner IS NOT NULL, r.state, e.seq, e.hash
FROM runs r LEFT JOIN events e ON e.run = r.num AND e.seq = (SELECT max(seq) FROM events WHERE run = r.num)
WHERE r.id = ?`, []any{id[:]}, &r.num, &r.fence, &r.held, &state, &seq, &hash)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, store.ErrNotFound
	}
	r.ended, r.head.Seq = state.Ended(), seq.Int64
	copy(r.head.Hash[:], hash)
	w.remember(id, &r)
	return &r, nil
}

func (w *writer) remember(id session.ID, r *runState) {
	if len(w.runs) == maxRuns {
		clear(w.runs)
	}
	w.runs[id] = r
}

// change changes a run that is there, and forgets what was remembered of it.
func (w *writer) change(id session.ID, statement string, args ...any) error {
	n, err := w.exec(statement, args...)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	delete(w.runs, id)
	return err
}

// CreateRun implements [store.Runs].
func (d *database) CreateRun(ctx context.Context, r store.Run, b store.Batch) store.Commit {
	return d.commit(ctx, "create run", r.ID, b, func(w *writer, objects []object) error {
		num, changed, err := w.insert(`INSERT INTO runs (id, name, program, spec, source, input, output, state, error, created, updated, deadline, owner, fence, expires, cancel)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, d.runRow(r)...)
		if err != nil {
			return err
		}
		if changed == 0 {
			return store.ErrExists
		}
		w.remember(r.ID, &runState{num: num, fence: r.Lease.Fence, held: r.Lease.Owner != "", ended: r.State.Ended()})
		return w.append(r.ID, b, objects)
	})
}

// runRow gives the columns of a new run.
func (d *database) runRow(r store.Run) []any {
	if r.State == "" {
		r.State = store.Queued
	}
	if r.Created.IsZero() {
		r.Created = d.now()
	}
	if r.Updated.IsZero() {
		r.Updated = r.Created
	}
	if r.State.Ended() {
		r.Lease.Owner, r.Lease.Expires = "", time.Time{}
	}
	return []any{
		r.ID[:], r.Name, r.Program, bytesColumn(r.Spec), idColumn(r.Source), r.Input[:], idColumn(r.Output), string(r.State), textColumn(r.Error),
		micros(r.Created), micros(r.Updated), micros(r.Deadline), textColumn(r.Lease.Owner), r.Lease.Fence, micros(r.Lease.Expires), r.Cancel,
	}
}

// Run implements [store.Runs].
func (d *database) Run(ctx context.Context, id session.ID) (store.Run, error) {
	var where filter
	where.add("r.id = ?", id[:])
	err := store.ErrNotFound
	for r, problem := range d.list(ctx, where, "") {
		if problem == nil {
			return r, nil
		}
		err = problem
	}
	return store.Run{}, d.failed("read run", id, err)
}

// Runs implements [store.Runs].
func (d *database) Runs(ctx context.Context, f store.RunFilter) iter.Seq2[store.Run, error] {
	var where filter
	where.prefix("r.id", f.Prefix)
	if f.Name != "" {
		where.add("r.name = ?", f.Name)
	}
	if len(f.States) > 0 {
		where.states(f.States)
	}
	if !f.Since.IsZero() {
		where.add("r.created >= ?", micros(f.Since))
	}
	if !f.Until.IsZero() {
		where.add("r.created < ?", micros(f.Until))
	}
	rest := " ORDER BY r.created, r.num"
	if f.Newest {
		rest = " ORDER BY r.created DESC, r.num DESC"
	}
	if f.Limit > 0 {
		rest += " LIMIT ?"
		where.args = append(where.args, f.Limit)
	}
	return func(yield func(store.Run, error) bool) {
		for r, err := range d.list(ctx, where, rest) {
			if err != nil {
				err = d.failed("list runs", nil, err)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// states chooses runs by their state. If all are open ones, it says so in the words of
// the index of those.
func (f *filter) states(states []store.State) {
	if !slices.ContainsFunc(states, store.State.Ended) {
		f.add("r.state IN ('queued', 'running', 'waiting', 'needs_review')")
	}
	args := make([]any, len(states))
	for i, s := range states {
		args[i] = string(s)
	}
	f.add("r.state IN (?"+strings.Repeat(", ?", len(states)-1)+")", args...)
}

const runColumns = `SELECT r.id, r.name, r.program, r.spec, r.source, r.input, r.output, r.state, r.error, r.created, r.updated, r.deadline, r.owner, r.fence, r.expires, r.cancel, e.seq, e.hash
FROM runs r LEFT JOIN events e ON e.run = r.num AND e.seq = (SELECT max(seq) FROM events WHERE run = r.num)`

// list yields the runs that a query chooses.
func (d *database) list(ctx context.Context, where filter, rest string) iter.Seq2[store.Run, error] {
	return func(yield func(store.Run, error) bool) {
		err := d.each(ctx, func(rows *sql.Rows) error {
			r, err := scanRun(rows)
			if err == nil && !yield(r, nil) {
				err = errStop
			}
			return err
		}, runColumns+where.String()+rest, where.args...)
		if err != nil {
			yield(store.Run{}, err)
		}
	}
}

// scanRun reads runColumns.
func scanRun(rows *sql.Rows) (r store.Run, err error) {
	var id, source, input, output, hash []byte
	var problem, owner sql.NullString
	var seq sql.NullInt64
	var created, updated, deadline, expires int64
	err = rows.Scan(&id, &r.Name, &r.Program, (*[]byte)(&r.Spec), &source, &input, &output, (*string)(&r.State), &problem,
		&created, &updated, &deadline, &owner, &r.Lease.Fence, &expires, &r.Cancel, &seq, &hash)
	copy(r.ID[:], id)
	copy(r.Source[:], source)
	copy(r.Input[:], input)
	copy(r.Output[:], output)
	copy(r.Head.Hash[:], hash)
	r.Error, r.Head.Seq = problem.String, seq.Int64
	r.Created, r.Updated, r.Deadline = fromMicros(created), fromMicros(updated), fromMicros(deadline)
	if owner.Valid {
		r.Lease.Run, r.Lease.Owner, r.Lease.Expires = r.ID, owner.String, fromMicros(expires)
	} else {
		r.Lease = store.Lease{} // its fence is past
	}
	return r, err
}

// Acquire implements [store.Runs].
func (d *database) Acquire(ctx context.Context, id session.ID, owner string, ttl time.Duration, over int64) (r store.Run, err error) {
	err = d.do(ctx, "acquire run", id, 0, func(w *writer) error {
		now := d.now()
		if r, err = w.run(id); err != nil {
			return err
		}
		switch l := r.Lease; {
		case r.State.Ended():
			return fmt.Errorf("%w: it is %s", store.ErrEndedRun, r.State)
		case l.Held(now) && (over == 0 || l.Fence != over):
			return fmt.Errorf("%w: %s, until %s", store.ErrLeased, l.Owner, l.Expires.Format(time.RFC3339))
		}
		s, err := w.state(id)
		if err != nil {
			return err
		}
		r.Lease = store.Lease{Run: id, Owner: owner, Fence: s.fence + 1, Expires: fromMicros(micros(now.Add(ttl)))}
		return w.change(id, "UPDATE runs SET owner = ?, fence = ?, expires = ? WHERE id = ?", owner, r.Lease.Fence, micros(r.Lease.Expires), id[:])
	})
	if err != nil {
		return store.Run{}, err
	}
	return r, nil
}

// run reads a run in the writer's transaction.
func (w *writer) run(id session.ID) (r store.Run, err error) {
	found := false
	err = w.each(func(rows *sql.Rows) error {
		found = true
		r, err = scanRun(rows)
		return err
	}, runColumns+" WHERE r.id = ?", id[:])
	if err == nil && !found {
		err = store.ErrNotFound
	}
	return r, err
}

// lease checks that a lease is still the run's.
func (w *writer) lease(l store.Lease) (*runState, error) {
	r, err := w.state(l.Run)
	switch {
	case err != nil:
		return nil, err
	case l.Fence == r.fence && r.ended:
		return nil, store.ErrEndedRun
	case l.Fence != r.fence || !r.held:
		return nil, store.ErrFenced
	}
	return r, nil
}

// Renew implements [store.Runs].
func (d *database) Renew(ctx context.Context, l store.Lease, ttl time.Duration) (cancel bool, err error) {
	err = d.do(ctx, "renew the lease of run", l.Run, 0, func(w *writer) error {
		if _, err := w.lease(l); err != nil {
			return err
		}
		if _, err := w.row("SELECT cancel FROM runs WHERE id = ?", []any{l.Run[:]}, &cancel); err != nil {
			return err
		}
		_, err := w.exec("UPDATE runs SET expires = ? WHERE id = ?", micros(d.now().Add(ttl)), l.Run[:])
		return err
	})
	return cancel, err
}

// Release implements [store.Runs].
func (d *database) Release(ctx context.Context, l store.Lease) error {
	return d.do(ctx, "release run", l.Run, 0, func(w *writer) error {
		_, err := w.exec("UPDATE runs SET owner = NULL, expires = 0 WHERE id = ? AND fence = ?", l.Run[:], l.Fence)
		delete(w.runs, l.Run)
		return err
	})
}

// CancelRun implements [store.Runs].
func (d *database) CancelRun(ctx context.Context, id session.ID) error {
	return d.do(ctx, "cancel run", id, 0, func(w *writer) error {
		r, err := w.state(id)
		if err == nil && r.ended {
			err = store.ErrEndedRun
		}
		if err == nil {
			_, err = w.exec("UPDATE runs SET cancel = 1 WHERE id = ?", id[:])
		}
		return err
	})
}
