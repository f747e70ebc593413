package local

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/openrath-go/rath/memory/driver"
)

// indexSchema is the index's part of the schema. The words of notes are kept in the form
// in which they are looked for, one space between them, so that FTS5 has nothing to
// decide: its tokenizer splits at spaces and takes all else for words.
const indexSchema = `
CREATE VIRTUAL TABLE lexicon USING fts5 (body, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '_.'");

CREATE TABLE index_state (
	id    INTEGER PRIMARY KEY CHECK (id = 1),
	notes INTEGER NOT NULL,
	words INTEGER NOT NULL, -- of all notes
	stem  INTEGER NOT NULL, -- 1: words are reduced to their stems
	model INTEGER NOT NULL, -- whose vectors are wanted; 0: none
	seq   INTEGER NOT NULL  -- counts what happens to vectors
) STRICT;
INSERT INTO index_state VALUES (1, 0, 0, 0, 0, 0);

CREATE TABLE models (
	id        INTEGER PRIMARY KEY,
	name      TEXT NOT NULL UNIQUE,
	dimension INTEGER NOT NULL -- 0: not known yet
) STRICT;

-- Every note has a row: its vector is that of the wanted model or still to be made.
CREATE TABLE vectors (
	note  INTEGER PRIMARY KEY,
	model INTEGER NOT NULL, -- 0: none
	seq   INTEGER NOT NULL, -- of the last change
	data  BLOB              -- float32, little endian, of length 1
) STRICT;
CREATE INDEX vectors_model ON vectors (model, seq);
`

// index finds notes.
type index struct {
	db       *database
	stems    stems
	embedder driver.Embedder // nil: there is none
	model    int64           // the embedder's
	matrix   matrix

	stop context.CancelFunc // of the background
	poke chan struct{}      // there are notes without a vector
	done chan struct{}

	mu     sync.Mutex
	counts map[string]count // of words that many notes have
	err    error            // why no vectors are made

	hurry    time.Duration // that a query's vector may take
	resting  time.Time     // until then the provider is not asked for one
	queryErr error         // why
}

// analyzer is the one that the index is made with.
func (x *index) analyzer(s state) analyzer {
	if s.stem {
		return analyzer{&x.stems}
	}
	return analyzer{}
}

// state is the index's only row of totals.
type state struct {
	notes, words int64
	stem         bool
	model, seq   int64
}

func readState(ctx context.Context, tx querier) (s state, err error) {
	err = tx.QueryRowContext(ctx, "SELECT notes, words, stem, model, seq FROM index_state").Scan(&s.notes, &s.words, &s.stem, &s.model, &s.seq)
	return s, err
}

// newIndex makes the index of a memory that has its schema. Another Options.Stem than
// last time makes it anew.
func newIndex(d *database, o *Options) (*index, error) {
	x := &index{db: d, embedder: o.Embedder, counts: map[string]count{}, hurry: hurry}
	ctx := context.Background()
	s, err := x.state(ctx)
	if err == nil && s.stem != o.Stem {
		err = x.rebuild(ctx, o.Stem)
	}
	if err != nil {
		return nil, err
	}
	return x, x.startEmbedding(ctx)
}

func (x *index) state(ctx context.Context) (s state, err error) {
	err = x.db.read(ctx, func(ctx context.Context, tx querier) error {
		s, err = readState(ctx, tx)
		return err
	})
	return s, err
}

// close ends what the index does in the background.
func (x *index) close() error {
	x.stopEmbedding()
	return nil
}

// put makes a note findable.
func (x *index) put(ctx context.Context, tx execer, id int64, n driver.Note) error {
	s, err := readState(ctx, tx)
	if err != nil {
		return err
	}
	if err := x.putWords(ctx, tx, s, id, n); err != nil {
		return err
	}
	return x.putVector(ctx, tx, s, id)
}

func (x *index) putWords(ctx context.Context, tx execer, s state, id int64, n driver.Note) error {
	body, words := x.analyzer(s).body(n)
	if err := exec(ctx, tx, "INSERT INTO lexicon (rowid, body) VALUES (?, ?)", id, body); err != nil {
		return err
	}
	return exec(ctx, tx, "UPDATE index_state SET notes = notes + 1, words = words + ?, seq = seq + 1", words)
}

// drop forgets a note that is still there.
func (x *index) drop(ctx context.Context, tx execer, id int64) error {
	s, err := readState(ctx, tx)
	if err != nil {
		return err
	}
	_, n, err := scanNote(tx.QueryRowContext(ctx, "SELECT "+noteColumns+" FROM notes WHERE id = ?", id))
	if err != nil {
		return err
	}
	_, words := x.analyzer(s).body(n)
	return errors.Join(
		exec(ctx, tx, "DELETE FROM lexicon WHERE rowid = ?", id),
		exec(ctx, tx, "DELETE FROM vectors WHERE note = ?", id),
		exec(ctx, tx, "UPDATE index_state SET notes = notes - 1, words = words - ?", words),
	)
}

// body gives a note's words as FTS5 gets them, and their number. The parts of
// identifiers come at the end, so that phrases have none in between.
func (a analyzer) body(n driver.Note) (body string, words int) {
	var whole, parts strings.Builder
	add := func(w word) {
		b := &whole
		if w.part {
			b = &parts
		}
		b.WriteString(w.text)
		b.WriteByte(' ')
		words++
	}
	whole.Grow(len(n.Title) + len(n.Context) + len(n.Text))
	for _, text := range []string{n.Title, n.Context, n.Text} {
		a.each(text, add)
	}
	return whole.String() + parts.String(), words
}

// rebuild indexes the words of all notes again.
func (x *index) rebuild(ctx context.Context, stem bool) error {
	return x.db.write(ctx, func(ctx context.Context, tx execer) error {
		err := errors.Join(
			exec(ctx, tx, "INSERT INTO lexicon (lexicon) VALUES ('delete-all')"),
			exec(ctx, tx, "UPDATE index_state SET notes = 0, words = 0, stem = ?", stem),
		)
		if err != nil {
			return err
		}
		s := state{stem: stem}
		for id := int64(0); ; {
			var n driver.Note
			id, n, err = scanNote(tx.QueryRowContext(ctx, "SELECT "+noteColumns+" FROM notes WHERE id > ? ORDER BY id LIMIT 1", id))
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err == nil {
				err = x.putWords(ctx, tx, s, id, n)
			}
			if err != nil {
				return err
			}
		}
	})
}

// capabilities sets what the index can do now.
func (x *index) capabilities(c *driver.Capabilities) {
	c.Lexical, c.Filter = true, true
	c.Semantic = x.embedder != nil
}
