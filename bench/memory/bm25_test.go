package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// bm25 is a plain BM25 that shares nothing with the code that it is compared with: words
// are [A-Za-z0-9]+ in lower case, k1 is 1.5, b is 0.75, everything is in memory.
type bm25 struct {
	postings map[string][]posting
	lengths  []float64
	mean     float64
}

type posting struct {
	doc int
	tf  float64
}

func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

func newBM25(texts []string) *bm25 {
	b := &bm25{postings: map[string][]posting{}}
	var total float64
	for doc, text := range texts {
		words := plainWords(text)
		tf := map[string]float64{}
		for _, w := range words {
			tf[w]++
		}
		for w, n := range tf {
			b.postings[w] = append(b.postings[w], posting{doc, n})
		}
		b.lengths = append(b.lengths, float64(len(words)))
		total += float64(len(words))
	}
	b.mean = total / float64(len(texts))
	return b
}

// find returns the numbers of the best texts.
func (b *bm25) find(query string, limit int) []int {
	const k1, bb = 1.5, 0.75
	n := float64(len(b.lengths))
	scores := map[int]float64{}
	for _, w := range plainWords(query) {
		list := b.postings[w]
		df := float64(len(list))
		idf := math.Log(1 + (n-df+0.5)/(df+0.5))
		for _, p := range list {
			scores[p.doc] += idf * p.tf * (k1 + 1) / (p.tf + k1*(1-bb+bb*b.lengths[p.doc]/b.mean))
		}
	}
	docs := make([]int, 0, len(scores))
	for doc := range scores {
		docs = append(docs, doc)
	}
	slices.SortFunc(docs, func(x, y int) int { return cmp.Or(cmp.Compare(scores[y], scores[x]), cmp.Compare(x, y)) })
	return docs[:min(limit, len(docs))]
}
