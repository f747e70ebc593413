package local

import (
	"math"
	"strings"
	"time"

	"github.com/openrath-go/rath/memory/driver"
)

// BM25 as Robertson and Zaragoza (2009) have it, with the idf of Lucene, which is never
// negative.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// idf is what a word weighs that df of n notes have.
func idf(df, n int64) float64 {
	df = min(df, n)
	return math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
}

// term is a word of a query, or the beginning of one.
type term struct {
	phrase
	count
	weight float64
}

// bound is more than the term gives to any note.
func (t term) bound() float64 { return t.weight * (bm25K1 + 1) }

// scorer gives notes their BM25 for a query. It is for one goroutine.
type scorer struct {
	analyzer
	terms    []term
	words    map[string]int // the number of a term
	prefixes []int
	mean     float64 // length of notes, in words
	tf       []float64
}

func newScorer(a analyzer, terms []term, mean float64) *scorer {
	s := &scorer{analyzer: a, terms: terms, words: map[string]int{}, mean: max(mean, 1), tf: make([]float64, len(terms))}
	for i, t := range terms {
		if t.prefix {
			s.prefixes = append(s.prefixes, i)
		} else {
			s.words[t.phrase.words[0]] = i
		}
	}
	return s
}

// find calls f for each word of a text that is looked for.
func (s *scorer) find(text string, f func(term int, w word)) (length int) {
	s.each(text, func(w word) {
		length++
		if i, ok := s.words[w.text]; ok {
			f(i, w)
		}
		for _, i := range s.prefixes {
			if strings.HasPrefix(w.text, s.terms[i].phrase.words[0]) {
				f(i, w)
			}
		}
	})
	return length
}

// score is 0 for notes that have no word of the query.
func (s *scorer) score(title, context, text string) (score float64) {
	clear(s.tf)
	once := func(i int, _ word) { s.tf[i]++ }
	length := s.find(title, once) + s.find(context, once) + s.find(text, once)
	norm := bm25K1 * (1 - bm25B + bm25B*float64(length)/s.mean)
	for i, tf := range s.tf {
		score += s.terms[i].weight * tf * (bm25K1 + 1) / (tf + norm)
	}
	return score
}

// How much other things than the match count.
const (
	recencyWeight    = 0.1
	recencyHalfLife  = 30 * 24 * time.Hour
	importanceWeight = 0.2
	endedFactor      = 0.5
)

// blend is what a note's score is multiplied with: from 0.9 to 1 for its age, from 0.9 to
// 1.1 for its importance, and a half if another note took its place. It is the same for
// notes of the same age and importance, so that these do not change their order.
func blend(now time.Time, n driver.Note) float64 {
	f := 1.0
	if !now.IsZero() {
		age := max(0, now.Sub(n.Time))
		f *= 1 - recencyWeight*(1-math.Exp2(-float64(age)/float64(recencyHalfLife)))
	}
	if n.Importance != 0 {
		f *= 1 + importanceWeight*(min(max(n.Importance, 0), 1)-0.5)
	}
	if !n.Until.IsZero() {
		f *= endedFactor
	}
	return f
}
