package local

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openrath-go/rath/memory/driver"
)

const (
	batch      = 64   // texts in one call of the provider
	maxEmbeded = 8000 // bytes of a note: its beginning stands for it

	settle    = 50 * time.Millisecond // after a note was put, for others that follow
	lookAgain = 5 * time.Second       // for notes of other processes
	firstWait = time.Second           // after the provider failed
	lastWait  = time.Minute
	slowest   = 2 * time.Minute // that a batch may take
)

// startEmbedding has vectors made in the background, if there is a provider.
func (x *index) startEmbedding(ctx context.Context) error {
	if x.embedder == nil {
		return nil
	}
	if err := x.choose(ctx); err != nil {
		return err
	}
	ctx, x.stop = context.WithCancel(context.Background())
	x.poke, x.done = make(chan struct{}, 1), make(chan struct{})
	go x.embedAll(ctx)
	return nil
}

func (x *index) stopEmbedding() {
	if x.stop != nil {
		x.stop()
		<-x.done
	}
}

// choose makes the provider's model the one whose vectors are wanted.
func (x *index) choose(ctx context.Context) error {
	name := x.embedder.String()
	err := x.db.read(ctx, func(ctx context.Context, tx querier) error {
		const chosen = "SELECT coalesce((SELECT m.id FROM models m, index_state s WHERE m.id = s.model AND m.name = ?), 0)"
		return tx.QueryRowContext(ctx, chosen, name).Scan(&x.model)
	})
	if err != nil || x.model != 0 {
		return err
	}
	return x.db.write(ctx, func(ctx context.Context, tx execer) error {
		if err := exec(ctx, tx, "INSERT INTO models (name, dimension) VALUES (?, 0) ON CONFLICT DO NOTHING", name); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "UPDATE index_state SET model = (SELECT id FROM models WHERE name = ?) RETURNING model", name).Scan(&x.model)
	})
}

// putVector notes that a vector is to be made.
func (x *index) putVector(ctx context.Context, tx execer, s state, id int64) error {
	x.wake()
	return exec(ctx, tx, "INSERT INTO vectors (note, model, seq) VALUES (?, 0, ?)", id, s.seq+1)
}

// wake has the background look for notes without a vector.
func (x *index) wake() {
	if x.poke == nil {
		return
	}
	select {
	case x.poke <- struct{}{}:
	default: // it will look anyway
	}
}

// embedAll makes vectors until ctx ends. What it has made is kept batch by batch, so that
// it can go on where it was stopped.
func (x *index) embedAll(ctx context.Context) {
	defer close(x.done)
	wait := firstWait
	for {
		n, err := x.embedSome(ctx)
		x.setTrouble(err)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			rest(ctx, nil, wait)
			wait = min(2*wait, lastWait)
		case n == 0:
			wait = firstWait
			if rest(ctx, x.poke, lookAgain) {
				rest(ctx, nil, settle)
			}
		default:
			wait = firstWait
		}
	}
}

// rest waits, or until it is woken, which it reports.
func rest(ctx context.Context, wake <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-wake:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// unembedded is a note whose vector is to be made.
type unembedded struct {
	note, seq int64
	text      string
}

// embedSome makes the vectors of one batch.
func (x *index) embedSome(ctx context.Context) (int, error) {
	todo, err := x.todo(ctx)
	if err != nil || len(todo) == 0 {
		return 0, err
	}
	return len(todo), x.embedBatch(ctx, todo, false)
}

// embedBatch makes vectors. The file is not locked while the provider works: a note that
// has changed meanwhile keeps waiting. Of a batch that the provider refuses the halves are
// tried, and so on: one note that it cannot read does not keep the others from having
// vectors. That it works at all is found out first.
func (x *index) embedBatch(ctx context.Context, todo []unembedded, works bool) error {
	texts := make([]string, len(todo))
	for i, p := range todo {
		texts[i] = p.text
	}
	vectors, err := x.vectors(ctx, texts, slowest)
	if err == nil {
		return x.db.write(ctx, func(ctx context.Context, tx execer) error {
			return x.keep(ctx, tx, todo, vectors)
		})
	}
	if passing(err) {
		return err
	}
	if !works {
		if _, e := x.vectors(ctx, []string{"hello"}, slowest); e != nil {
			return err
		}
	}
	if len(todo) == 1 {
		return x.putAside(ctx, todo[0])
	}
	half := len(todo) / 2
	if err := x.embedBatch(ctx, todo[:half], true); err != nil {
		return err
	}
	return x.embedBatch(ctx, todo[half:], true)
}

// putAside notes that the model refuses a note's text: its row has the model's number, but
// negative. It is tried again when its text has changed, or by another model.
func (x *index) putAside(ctx context.Context, p unembedded) error {
	return x.db.write(ctx, func(ctx context.Context, tx execer) error {
		return exec(ctx, tx, "UPDATE vectors SET model = ?, data = NULL WHERE note = ? AND seq = ?", -x.model, p.note, p.seq)
	})
}

// todo are the newest notes without a vector, which are asked for soonest.
func (x *index) todo(ctx context.Context) (todo []unembedded, err error) {
	const query = `SELECT v.note, v.seq, coalesce(n.title, ''), coalesce(n.context, ''), substr(n.text, 1, ?)
		FROM vectors v CROSS JOIN notes n ON n.id = v.note WHERE (v.model < ? OR v.model > ?) AND v.model <> ? AND ? = (SELECT model FROM index_state)
		ORDER BY v.note DESC LIMIT ?`
	err = x.db.read(ctx, func(ctx context.Context, tx querier) error {
		todo = nil
		rows, err := tx.QueryContext(ctx, query, maxEmbeded, x.model, x.model, -x.model, x.model, batch)
		return eachRow(rows, err, func(rows *sql.Rows) error {
			var p unembedded
			var title, context, text string
			err := rows.Scan(&p.note, &p.seq, &title, &context, &text)
			p.text = clip(strings.TrimSpace(title + "\n" + context + "\n" + text))
			todo = append(todo, p)
			return err
		})
	})
	return todo, err
}

// keep keeps the vectors of notes that have not changed.
func (x *index) keep(ctx context.Context, tx execer, todo []unembedded, vectors [][]float32) error {
	var seq int64
	if err := tx.QueryRowContext(ctx, "UPDATE index_state SET seq = seq + 1 RETURNING seq").Scan(&seq); err != nil {
		return err
	}
	var dim int
	const measure = "UPDATE models SET dimension = iif(dimension = 0, ?, dimension) WHERE id = ? RETURNING dimension"
	if err := tx.QueryRowContext(ctx, measure, len(vectors[0]), x.model).Scan(&dim); err != nil {
		return err
	}
	for i, p := range todo {
		if len(vectors[i]) != dim {
			return fmt.Errorf("%s gave a vector of %d numbers, not %d", x.embedder, len(vectors[i]), dim)
		}
		const update = "UPDATE vectors SET model = ?, seq = ?, data = ? WHERE note = ? AND seq = ?"
		if err := exec(ctx, tx, update, x.model, seq, blob(vectors[i]), p.note, p.seq); err != nil {
			return err
		}
	}
	return nil
}

// clip is the beginning of a text, as much as stands for it.
func clip(text string) string {
	if len(text) <= maxEmbeded {
		return text
	}
	text = text[:maxEmbeded]
	for !utf8.ValidString(text) && len(text) > maxEmbeded-utf8.UTFMax {
		text = text[:len(text)-1]
	}
	return text
}

// missing counts the notes whose vector of a model is still to be made.
func (x *index) missing(ctx context.Context, tx querier, model int64) (n int, err error) {
	const query = "SELECT count(*) FROM vectors WHERE (model < ? OR model > ?) AND model <> ?"
	err = tx.QueryRowContext(ctx, query, model, model, -model).Scan(&n)
	return n, err
}

// stats fills in what is known of vectors.
func (x *index) stats(ctx context.Context, tx querier, s *driver.Stats) error {
	const query = `SELECT coalesce(max(m.name), ''), coalesce(max(m.dimension), 0),
		(SELECT count(*) FROM vectors v JOIN index_state s ON v.model = s.model WHERE s.model <> 0),
		(SELECT count(*) FROM vectors v JOIN index_state s ON v.model = -s.model WHERE s.model <> 0)
		FROM models m JOIN index_state s ON m.id = s.model`
	return tx.QueryRowContext(ctx, query).Scan(&s.Model, &s.Dimension, &s.Vectors, &s.Refused)
}
