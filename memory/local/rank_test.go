package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/openrath-go/rath/memory/driver"
)

func TestBlendIsMild(t *testing.T) {
	old := driver.Note{Time: noon.AddDate(-30, 0, 0)}
	for name, test := range map[string]struct {
		now  time.Time
		n    driver.Note
		want float64
	}{
		"nothing told": {noon, driver.Note{Time: noon}, 1},
		"the future":   {noon, driver.Note{Time: noon.Add(time.Hour)}, 1},
		"no clock":     {time.Time{}, old, 1},
		"old":          {noon, old, 0.9},
		"half life":    {noon, driver.Note{Time: noon.Add(-recencyHalfLife)}, 0.95},
		"important":    {noon, driver.Note{Time: noon, Importance: 1}, 1.1},
		"middle":       {noon, driver.Note{Time: noon, Importance: 0.5}, 1},
		"ended":        {noon, driver.Note{Time: noon, Until: noon}, 0.5},
	} {
		if got := blend(test.now, test.n); got < test.want-1e-6 || got > test.want+1e-6 {
			t.Errorf("%s: %v, not %v", name, got, test.want)
		}
	}
}

// The best note must be found although only notes with rare words are looked at.
func TestFindsWhatScoresBest(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(random, 1.2, 2, 2000)
	d := openTest(t, nil)
	var notes []driver.Note
	for i := range 1500 {
		words := make([]string, 5+random.IntN(40))
		for j := range words {
			words[j] = fmt.Sprintf("w%d", zipf.Uint64())
		}
		notes = append(notes, note(fmt.Sprint(i), strings.Join(words, " ")))
	}
	put(t, d, notes...)
	worse := 0
	for range 60 {
		query := fmt.Sprintf("w%d w%d w%d w%d", zipf.Uint64(), zipf.Uint64(), 5+zipf.Uint64(), 50+random.IntN(500))
		f, err := d.Find(t.Context(), driver.Query{Text: query, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		best := bestOf(t, d, notes, query)
		if len(f.Hits) == 0 || f.Hits[0].Words < best*0.999 {
			worse++
		}
	}
	if worse > 1 {
		t.Errorf("%d of 60 queries missed the best note", worse)
	}
}

// bestOf scores all notes.
func bestOf(t *testing.T, d *database, notes []driver.Note, query string) (best float64) {
	t.Helper()
	err := d.read(t.Context(), func(ctx context.Context, tx querier) error {
		s, err := d.index.newSearch(ctx, tx, driver.Query{})
		if err != nil {
			return err
		}
		a := d.index.analyzer(s.state)
		terms, err := s.countAll(a.parse(query))
		scorer := newScorer(a, terms, float64(s.state.words)/float64(s.state.notes))
		for _, n := range notes {
			best = max(best, scorer.score(n.Title, n.Context, n.Text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return best
}
