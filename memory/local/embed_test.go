package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openrath-go/rath/memory/driver"
)

// synonyms is a model that knows which words mean the same: its vectors count them.
type synonyms struct {
	name string

	mu    sync.Mutex
	err   error
	calls int
	most  int // texts in one call
}

var senses = map[string]int{"tea": 0, "beverage": 0, "drink": 0, "dog": 1, "pet": 1, "puppy": 1, "flat": 2, "home": 2}

func (m *synonyms) String() string { return m.name }

func (m *synonyms) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls, m.most = m.calls+1, max(m.most, len(texts))
	if m.err != nil {
		return nil, m.err
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 4)
		vectors[i][3] = 0.1
		for _, w := range strings.Fields(strings.ToLower(text)) {
			if sense, ok := senses[w]; ok {
				vectors[i][sense]++
			}
		}
	}
	return vectors, nil
}

func (m *synonyms) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// vectorsMade waits until so many notes have a vector.
func vectorsMade(t *testing.T, d *database, n int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		stats, err := d.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if stats.Vectors == n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d vectors of %d", stats.Vectors, n)
		}
	}
}

func TestFindMeaning(t *testing.T) {
	m := &synonyms{name: "a"}
	d := openTest(t, &Options{Embedder: m})
	put(t, d, note("tea", "green tea"), note("dog", "my dog"), note("flat", "the flat"), note("none", "nothing"))
	vectorsMade(t, d, 4)
	first := func(q driver.Query) string {
		t.Helper()
		names := found(t, d, q)
		if len(names) == 0 {
			t.Fatalf("%+v finds nothing", q)
		}
		return names[0]
	}
	for query, want := range map[string]string{"beverage": "tea", "puppy": "dog", "home": "flat"} {
		for _, match := range []driver.Matching{driver.MatchBest, driver.MatchMeaning} {
			if got := first(driver.Query{Text: query, Match: match}); got != want {
				t.Errorf("%s finds %s first", query, got)
			}
		}
	}
	put(t, d, note("tea", "my puppy is small"))
	vectorsMade(t, d, 4)
	if got := first(driver.Query{Text: "drink"}); got == "tea" {
		t.Error("a note was found by the vector of its text before")
	}
	if _, err := d.Remove(t.Context(), note("dog", "").URI, false); err != nil {
		t.Fatal(err)
	}
	if got := first(driver.Query{Text: "pet", Match: driver.MatchMeaning}); got != "tea" {
		t.Errorf("found %s first", got)
	}
}

func TestFindWithoutProvider(t *testing.T) {
	m := &synonyms{name: "a", err: errors.New("connection refused")}
	d := openTest(t, &Options{Embedder: m})
	put(t, d, note("tea", "green tea"))
	f, err := d.Find(t.Context(), driver.Query{Text: "tea"})
	if err != nil || len(f.Hits) != 1 || f.Match != "words" || !strings.Contains(f.Notice, "connection refused") {
		t.Errorf("%+v, %v", f, err)
	}
	m.fail(nil)
	vectorsMade(t, d, 1)
	f, err = d.Find(t.Context(), driver.Query{Text: "tea"})
	if err != nil || len(f.Hits) != 1 || f.Match != "hybrid" || f.Notice != "" {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestFindNotesWithoutVectors(t *testing.T) {
	d := openTest(t, &Options{Embedder: &synonyms{name: "a"}})
	put(t, d, note("tea", "green tea"))
	vectorsMade(t, d, 1)
	d.index.stopEmbedding()
	d.index.stop = nil
	put(t, d, note("later", "zebra"))
	f, err := d.Find(t.Context(), driver.Query{Text: "zebra"})
	if err != nil || f.Hits[0].URI.Base() != "later" || !strings.Contains(f.Notice, "1 of 2 notes") {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestMeaningNeedsProvider(t *testing.T) {
	d := openTest(t, nil)
	if _, err := d.Find(t.Context(), driver.Query{Text: "tea", Match: driver.MatchMeaning}); !errors.Is(err, driver.ErrUnsupported) {
		t.Error(err)
	}
}

func TestModelChanges(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a", "b", "b", "a"} {
		m := &synonyms{name: name}
		d, err := open(t.Context(), dir, &Options{Embedder: m})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			var notes []driver.Note
			for n := range 150 {
				notes = append(notes, note(fmt.Sprint(n), "some tea"))
			}
			put(t, d, notes...)
		}
		vectorsMade(t, d, 150)
		stats, err := d.Stats(t.Context())
		if err != nil || stats.Model != name || stats.Dimension != 4 {
			t.Errorf("%+v, %v", stats, err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 0, false: 3}[i == 2]; m.most > batch || m.calls < want || i == 2 && m.calls > 0 {
			t.Errorf("the %d. model was called %d times for up to %d texts", i, m.calls, m.most)
		}
	}
}

func TestNearFilters(t *testing.T) {
	d := openTest(t, &Options{Embedder: &synonyms{name: "a"}})
	var notes []driver.Note
	for i := range 1500 {
		notes = append(notes, note(fmt.Sprintf("many/%d", i), "tea"))
	}
	far := note("few/far", "tea dog dog dog flat")
	far.Meta = map[string]string{"k": "v"}
	put(t, d, append(notes, far)...)
	vectorsMade(t, d, 1501)
	for _, q := range []driver.Query{
		{Under: []driver.URI{"memory://user/memories/few"}},
		{Meta: map[string]string{"k": "v"}},
	} {
		q.Text, q.Match = "beverage", driver.MatchMeaning
		if diff := cmp.Diff([]string{"far"}, found(t, d, q)); diff != "" {
			t.Error(diff)
		}
	}
}
