package local

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

var (
	kills = flag.Int("kills", 10, "how often processes are killed")
	long  = flag.Duration("for", 3*time.Second, "for how long eight processes work")
)

// model is what a memory must hold.
type model struct {
	workers  map[int]*expected
	archived map[session.Digest]bool
	finished map[session.Digest]bool
	errors   []string
}

// expected is what a worker's folders must hold.
type expected struct {
	notes map[driver.URI]string
	will  map[driver.URI]string // is done wholly or not at all; nil: nothing is under way
}

func newModel() *model {
	return &model{map[int]*expected{}, map[session.Digest]bool{}, map[session.Digest]bool{}, nil}
}

// hear takes in what a process says.
func (m *model) hear(x line) {
	w := m.workers[x.Worker]
	if w == nil {
		w = &expected{notes: map[driver.URI]string{}}
		m.workers[x.Worker] = w
	}
	switch {
	case x.Error != "":
		m.errors = append(m.errors, x.Error)
	case x.Archived != nil:
		m.archived[*x.Archived] = true
	case x.Finished != nil:
		m.finished[*x.Finished] = true
	case x.Did:
		w.notes, w.will = w.after(), nil
	default:
		w.will = x.Will
	}
}

// after is what there is when what is under way is done.
func (w *expected) after() map[driver.URI]string {
	notes := maps.Clone(w.notes)
	for uri, text := range w.will {
		if notes[uri] = text; text == "" {
			delete(notes, uri)
		}
	}
	return notes
}

// check compares with what a memory holds.
func (m *model) check(t *testing.T, d *database) {
	t.Helper()
	for _, problem := range m.errors {
		t.Errorf("a process failed: %s", problem)
	}
	for n, w := range m.workers {
		probe := &worker{n: n}
		got := texts(t, d, probe.folder())
		maps.Copy(got, texts(t, d, probe.facts()))
		if w.will != nil && cmp.Equal(w.after(), got) {
			w.notes = got
		}
		w.will = nil
		if diff := cmp.Diff(w.notes, got); diff != "" {
			t.Errorf("notes of worker %d (-want +got)\n%s", n, diff)
		}
		oneHolds(t, d, probe.facts())
	}
	m.checkArchives(t, d)
	intact(t, d)
}

// texts reads the notes in a folder.
func texts(t *testing.T, d *database, folder driver.URI) map[driver.URI]string {
	t.Helper()
	got := map[driver.URI]string{}
	entries, err := d.List(t.Context(), folder)
	if err != nil && !errors.Is(err, driver.ErrNotFound) {
		t.Fatal(err)
	}
	for _, e := range entries {
		n, err := d.Get(t.Context(), e.URI)
		if err != nil {
			t.Fatal(err)
		}
		got[n.URI] = n.Text
	}
	return got
}

// oneHolds checks that of the notes about the same one is true.
func oneHolds(t *testing.T, d *database, folder driver.URI) {
	t.Helper()
	low, high := below(folder)
	var all, holding int
	query(t, d, "SELECT count(*), ifnull(sum(until = 0), 0) FROM notes WHERE uri > ? AND uri < ?", []any{low, high}, &all, &holding)
	if all > 0 && holding != 1 {
		t.Errorf("of %d notes in %s %d hold", all, folder, holding)
	}
}

func (m *model) checkArchives(t *testing.T, d *database) {
	t.Helper()
	list, err := d.Archives(t.Context(), session.ID{})
	if err != nil {
		t.Fatal(err)
	}
	states := map[session.Digest]driver.State{}
	for i, a := range list {
		states[a.Digest] = a.State
		_, err := d.Get(t.Context(), extracted(a.Digest))
		if (err == nil) != (a.State == driver.Done) {
			t.Errorf("archive %s is %s, its note: %v", a.Digest, a.State, err)
		}
		if i%50 == 0 || a.State == "" {
			if _, err := d.Transcript(t.Context(), a.Digest); err != nil {
				t.Error(err)
			}
		}
	}
	for digest := range m.archived {
		if states[digest] == "" || states[digest] == driver.Archived {
			t.Errorf("the acknowledged archive %s is %q", digest, states[digest])
		}
	}
	for digest := range m.finished {
		if states[digest] != driver.Done {
			t.Errorf("the finished archive %s is %q", digest, states[digest])
		}
	}
}

// query reads one row.
func query(t *testing.T, d *database, text string, args []any, dest ...any) {
	t.Helper()
	err := d.read(t.Context(), func(ctx context.Context, tx querier) error {
		return tx.QueryRowContext(ctx, text, args...).Scan(dest...)
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// intact checks the file, and that notes and index agree.
func intact(t *testing.T, d *database) {
	t.Helper()
	var verdict string
	if query(t, d, "PRAGMA integrity_check", nil, &verdict); verdict != "ok" {
		t.Errorf("integrity: %s", verdict)
	}
	for _, table := range []string{"lexicon", "vectors"} {
		id := map[string]string{"lexicon": "rowid", "vectors": "note"}[table]
		var lost, left int
		query(t, d, fmt.Sprintf("SELECT (SELECT count(*) FROM notes WHERE id NOT IN (SELECT %[1]s FROM %[2]s)), (SELECT count(*) FROM %[2]s WHERE %[1]s NOT IN (SELECT id FROM notes))", id, table), nil, &lost, &left)
		if lost+left > 0 {
			t.Errorf("%d notes are not in %s, %d in there are no notes", lost, table, left)
		}
	}
	var notes, words, wrong int64
	a := analyzer{}
	err := d.read(t.Context(), func(ctx context.Context, tx querier) error {
		rows, err := tx.QueryContext(ctx, "SELECT "+noteColumns+", words FROM notes")
		return eachRow(rows, err, func(rows *sql.Rows) error {
			var hash int64
			_, n, err := scanNote(rows, &hash)
			_, count := a.body(n)
			if notes, words = notes+1, words+int64(count); hash != wordsHash(n.Text) {
				wrong++
			}
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	var counted [2]int64
	query(t, d, "SELECT notes, words FROM index_state", nil, &counted[0], &counted[1])
	if counted != [2]int64{notes, words} || wrong > 0 {
		t.Errorf("of %d notes with %d words %v are counted, %d hashes are wrong", notes, words, counted, wrong)
	}
}

// embedded waits until all notes have vectors.
func embedded(t *testing.T, d *database) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var notes int
		query(t, d, "SELECT count(*) FROM notes", nil, &notes)
		s, err := d.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Vectors == notes {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d vectors of %d are made: %+v", s.Vectors, notes, s)
		}
	}
}

// found checks that what notes say is found, by words and if possible by meaning.
func (m *model) found(t *testing.T, d *database) {
	t.Helper()
	semantic := d.Capabilities().Semantic
	if semantic {
		embedded(t, d)
	}
	for _, w := range m.workers {
		for _, uri := range slices.Sorted(maps.Keys(w.notes))[:min(5, len(w.notes))] {
			text := w.notes[uri]
			var stamp string
			_, _ = fmt.Sscan(text, &stamp)
			under := map[driver.Matching][]driver.URI{driver.MatchMeaning: {uri}} // others may be as near
			for match, q := range map[driver.Matching]string{driver.MatchWords: stamp, driver.MatchMeaning: text} {
				if match == driver.MatchMeaning && !semantic {
					continue
				}
				f, err := d.Find(t.Context(), driver.Query{Text: q, Match: match, Limit: 1, Ended: true, Under: under[match]})
				if err != nil {
					t.Fatal(err)
				}
				if len(f.Hits) != 1 || f.Hits[0].URI != uri || match == driver.MatchMeaning && f.Hits[0].Meaning < 0.99 {
					t.Errorf("%s is not found by %s: %+v", uri, match, f)
				}
			}
		}
	}
}

// TestKilled kills processes in the middle of whatever they do, and goes on with their
// memory: what was acknowledged is there, nothing is half there, and all of it is found.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir, m, acks := t.TempDir(), newModel(), 0
	seed := rand.Uint64()
	for round := range *kills {
		l := load{Dir: dir, Workers: []int{0, 1, 2}, Seed: seed + uint64(round), Model: fmt.Sprint("model ", round%2)}
		kill, lines := l.start(t)
		var once sync.Once
		for x := range lines {
			once.Do(func() { time.AfterFunc(time.Duration(rand.IntN(200_000))*time.Microsecond, kill) }) // it is at work
			m.hear(x)
			acks++
		}
		d, err := open(t.Context(), dir, &Options{Embedder: hashed(fmt.Sprint("model ", round%3))})
		if err != nil {
			t.Fatal(err)
		}
		m.check(t, d)
		if round%5 == 4 || round == *kills-1 {
			m.found(t, d)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Fatalf("round %d of seed %d", round, seed)
		}
	}
	t.Logf("%d kills, %d lines, %d archives, %d jobs done", *kills, acks, len(m.archived), len(m.finished))
}

// TestProcesses has eight processes work on one memory at once.
func TestProcesses(t *testing.T) {
	t.Parallel()
	dir, m := t.TempDir(), newModel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	acks := 0
	for n := range 8 {
		_, lines := load{Dir: dir, Workers: []int{n}, Seed: rand.Uint64(), Model: "model", For: *long}.start(t)
		wg.Go(func() {
			for x := range lines {
				mu.Lock()
				m.hear(x)
				acks++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(m.workers) != 8 {
		t.Errorf("%d processes have done something", len(m.workers))
	}
	d := openDir(t, dir, &Options{Embedder: hashed("model")})
	m.check(t, d)
	m.found(t, d)
	t.Logf("8 processes for %v: %d lines, %d archives, %d jobs done", *long, acks, len(m.archived), len(m.finished))
}
