package memory

import (
	"fmt"
	"math"
	"slices"
)

// score is how well queries were answered.
type score struct {
	recall5, recall10, mrr, ndcg float64
	n                            int
}

// add counts an answer, of ten texts or fewer.
func (s *score) add(relevant, answer []int) {
	s.n++
	var dcg, ideal float64
	first := true
	for i, doc := range answer[:min(10, len(answer))] {
		if !slices.Contains(relevant, doc) {
			continue
		}
		if i < 5 {
			s.recall5 += 1 / float64(len(relevant))
		}
		s.recall10 += 1 / float64(len(relevant))
		if first {
			s.mrr += 1 / float64(i+1)
			first = false
		}
		dcg += 1 / math.Log2(float64(i+2))
	}
	for i := range min(10, len(relevant)) {
		ideal += 1 / math.Log2(float64(i+2))
	}
	s.ndcg += dcg / ideal
}

// row is the score as a row of a table.
func (s score) row() string {
	n := float64(s.n)
	return fmt.Sprintf("%.4f | %.4f | %.4f | %.4f", s.recall5/n, s.recall10/n, s.mrr/n, s.ndcg/n)
}
