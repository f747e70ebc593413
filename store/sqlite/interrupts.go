package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// Ask implements [store.Interrupts].
func (d *database) Ask(ctx context.Context, i store.Interrupt) error {
	return d.do(ctx, "ask a question of run", i.Run, len(i.Request), func(w *writer) error {
		r, err := w.state(i.Run)
		if err != nil {
			return err
		}
		_, err = w.exec(`INSERT INTO interrupts (run, key, kind, request, asked, expires, decision, decided, by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, key) DO NOTHING`,
			r.num, i.Key, i.Kind, bytesColumn(i.Request), micros(i.Asked), micros(i.Expires), bytesColumn(i.Decision), micros(i.Decided), i.By)
		return err
	})
}

// Decide implements [store.Interrupts].
func (d *database) Decide(ctx context.Context, run session.ID, key string, decision json.RawMessage, by string) error {
	return d.do(ctx, fmt.Sprintf("decide question %q of run", key), run, len(decision), func(w *writer) error {
		r, err := w.state(run)
		if err != nil {
			return err
		}
		now := d.now()
		var expires, decided int64
		found, err := w.row("SELECT expires, decided FROM interrupts WHERE run = ? AND key = ?", []any{r.num, key}, &expires, &decided)
		switch i := (store.Interrupt{Expires: fromMicros(expires), Decided: fromMicros(decided)}); {
		case err != nil:
			return err
		case !found:
			return store.ErrNotFound
		case decided != 0:
			return store.ErrDecided
		case !i.Open(now):
			return fmt.Errorf("%w: %s", store.ErrExpired, i.Expires.Format(time.RFC3339))
		}
		_, err = w.exec("UPDATE interrupts SET decision = ?, decided = ?, by = ? WHERE run = ? AND key = ?", bytesColumn(decision), micros(now), by, r.num, key)
		return err
	})
}

// Interrupts implements [store.Interrupts].
func (d *database) Interrupts(ctx context.Context, run session.ID) iter.Seq2[store.Interrupt, error] {
	return func(yield func(store.Interrupt, error) bool) {
		var where filter
		if !run.IsZero() {
			where.add("r.id = ?", run[:])
		}
		err := d.each(ctx, func(rows *sql.Rows) error {
			i, err := scanInterrupt(rows)
			if err == nil && !yield(i, nil) {
				err = errStop
			}
			return err
		}, `SELECT r.id, i.key, i.kind, i.request, i.asked, i.expires, i.decision, i.decided, i.by
FROM interrupts i JOIN runs r ON r.num = i.run`+where.String()+" ORDER BY i.asked, i.num", where.args...)
		if err != nil {
			yield(store.Interrupt{}, d.failed("list questions", nil, err))
		}
	}
}

func scanInterrupt(rows *sql.Rows) (i store.Interrupt, err error) {
	var run sql.RawBytes
	var asked, expires, decided int64
	err = rows.Scan(&run, &i.Key, &i.Kind, (*[]byte)(&i.Request), &asked, &expires, (*[]byte)(&i.Decision), &decided, &i.By)
	copy(i.Run[:], run)
	i.Asked, i.Expires, i.Decided = fromMicros(asked), fromMicros(expires), fromMicros(decided)
	return i, err
}
