package local

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// The states of a job in its row; 0 is one that is to be done.
const (
	done   = 1
	failed = 2
)

// maxTries is how often a job is tried before it has failed for good.
const maxTries = 5

// pause is how long a job waits after it failed so many times: 10 s, 40 s, 160 s, 640 s.
func pause(tries int) time.Duration { return 10 * time.Second << (2 * (tries - 1)) }

// jobState is the state of an archive whose job is in such a state.
func jobState(state sql.NullInt64) driver.State {
	switch {
	case !state.Valid:
		return driver.Archived
	case state.Int64 == done:
		return driver.Done
	case state.Int64 == failed:
		return driver.Failed
	}
	return driver.Queued
}

func stateOf(ctx context.Context, tx querier, digest session.Digest) (driver.State, error) {
	var state sql.NullInt64
	_, err := exists(tx.QueryRowContext(ctx, "SELECT state FROM jobs WHERE digest = ?", digest[:]).Scan(&state))
	return jobState(state), err
}

// enqueue makes the job of an archive. One that has failed for good is tried again, and one
// that waits for its next try is tried at once.
func enqueue(ctx context.Context, tx execer, archive int64, a driver.Archive) error {
	start, err := startOf(ctx, tx, a.Digest)
	if err != nil {
		return err
	}
	return exec(ctx, tx, `INSERT INTO jobs (digest, archive, state, owner, tries, start, due) VALUES (?, ?, 0, '', 0, ?, 0)
		ON CONFLICT (digest) DO UPDATE SET state = 0, owner = '', tries = iif(state = 2, 0, tries), due = 0
		WHERE state = 2 OR state = 0 AND owner = '' AND due <> 0`, a.Digest[:], archive, start)
}

// startOf is the length of the longest beginning of a transcript that another job has.
func startOf(ctx context.Context, tx querier, digest session.Digest) (n int, err error) {
	const query = `WITH RECURSIVE path (prev) AS (
		SELECT prev FROM chunks WHERE digest = ?
		UNION ALL SELECT c.prev FROM path CROSS JOIN chunks c ON c.id = path.prev
	) SELECT a.len FROM path
	CROSS JOIN chunks c ON c.id = path.prev CROSS JOIN jobs j ON j.digest = c.digest CROSS JOIN archives a ON a.id = j.archive LIMIT 1`
	_, err = exists(tx.QueryRowContext(ctx, query, digest[:]).Scan(&n))
	return n, err
}

// free finds the oldest job that nobody works on.
const free = "FROM jobs WHERE state = 0 AND due <= ? ORDER BY id LIMIT 1"

// Claim implements [driver.Archiver].
func (d *database) Claim(ctx context.Context, owner string) (j driver.Job, ok bool, err error) {
	now := nanos(d.now())
	err = d.read(ctx, func(ctx context.Context, tx querier) error { // who finds nothing need not write
		ok, err = exists(tx.QueryRowContext(ctx, "SELECT 1 "+free, now).Scan(new(int)))
		return err
	})
	if err != nil || !ok {
		return j, false, err
	}
	err = d.write(ctx, func(ctx context.Context, tx execer) error {
		const lost = "UPDATE jobs SET state = 2, owner = '', why = 'whoever worked on it has gone away' WHERE state = 0 AND due <= ? AND tries >= ?"
		if err := exec(ctx, tx, lost, now, maxTries); err != nil {
			return err
		}
		j, err = claim(ctx, tx, owner, now, now+int64(d.lease))
		j.Lease = d.lease
		ok, err = exists(err)
		return err
	})
	if err != nil || !ok {
		return driver.Job{}, false, err
	}
	j.Archive.Transcript, err = d.Transcript(ctx, j.Archive.Digest)
	return j, err == nil, err
}

func claim(ctx context.Context, tx execer, owner string, now, until int64) (j driver.Job, err error) {
	const take = "UPDATE jobs SET owner = ?, tries = tries + 1, due = ? WHERE id = (SELECT id " + free + ") RETURNING id, archive, tries, start"
	var archive int64
	j.Owner = owner
	if err := tx.QueryRowContext(ctx, take, owner, until, now).Scan(&j.ID, &archive, &j.Tries, &j.From); err != nil {
		return j, err
	}
	j.Archive, err = scanArchive(tx.QueryRowContext(ctx, "SELECT "+archiveColumns+" FROM archives a WHERE id = ?", archive))
	j.Archive.State = driver.Queued
	return j, err
}

// hold changes a job that is still held: no other has taken it up since, for each who does
// has another number of tries.
func hold(ctx context.Context, tx execer, j driver.Job, set string, args ...any) error {
	done, err := tx.ExecContext(ctx, "UPDATE jobs SET "+set+" WHERE id = ? AND owner = ? AND tries = ? AND state = 0", append(args, j.ID, j.Owner, j.Tries)...)
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: job %d is no longer of %s", driver.ErrConflict, j.ID, j.Owner)
	}
	return err
}

// Renew implements [driver.Archiver].
func (d *database) Renew(ctx context.Context, j driver.Job) error {
	return d.write(ctx, func(ctx context.Context, tx execer) error {
		return hold(ctx, tx, j, "due = ?", nanos(d.now().Add(d.lease)))
	})
}

// Finish implements [driver.Archiver].
func (d *database) Finish(ctx context.Context, j driver.Job, notes []driver.Note) error {
	return d.edit(ctx, func(ctx context.Context, e *edit) error {
		if err := hold(ctx, e.tx, j, "state = 1, owner = '', why = NULL"); err != nil {
			return err
		}
		kept, err := e.putAll(ctx, driver.Merge, notes)
		if err != nil {
			return err
		}
		uris, err := toJSON(urisOf(kept), len(kept) == 0)
		if err != nil {
			return err
		}
		return exec(ctx, e.tx, "UPDATE jobs SET notes = ? WHERE id = ?", uris, j.ID)
	})
}

func urisOf(notes []driver.Note) (uris []driver.URI) {
	for _, n := range notes {
		if !slices.Contains(uris, n.URI) { // two may have had the same words
			uris = append(uris, n.URI)
		}
	}
	return uris
}

// Fail implements [driver.Archiver].
func (d *database) Fail(ctx context.Context, j driver.Job, why string) error {
	return d.write(ctx, func(ctx context.Context, tx execer) error {
		if j.Tries >= maxTries {
			return hold(ctx, tx, j, "state = 2, owner = '', why = ?", why)
		}
		return hold(ctx, tx, j, "owner = '', due = ?, why = ?", nanos(d.now().Add(pause(j.Tries))), why)
	})
}

// Release implements [driver.Archiver].
func (d *database) Release(ctx context.Context, j driver.Job) error {
	return d.write(ctx, func(ctx context.Context, tx execer) error {
		return hold(ctx, tx, j, "owner = '', due = 0, tries = tries - 1")
	})
}

// Pending implements [driver.Archiver].
func (d *database) Pending(ctx context.Context) (jobs, failed int, err error) {
	err = d.read(ctx, func(ctx context.Context, tx querier) error {
		return pending(ctx, tx, &jobs, &failed)
	})
	return jobs, failed, err
}

func pending(ctx context.Context, tx querier, jobs, failed *int) error {
	return tx.QueryRowContext(ctx, "SELECT count(*), ifnull(sum(state = 2), 0) FROM jobs WHERE state IN (0, 2)").Scan(jobs, failed)
}
