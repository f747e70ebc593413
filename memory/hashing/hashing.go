// Package hashing makes vectors of texts without a model: words and the runs of letters in
// them are hashed into a vector's places. It finds other forms and misspellings of words,
// not other words for the same.
package hashing

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"unicode"
)

// Options say how vectors are made. The zero Options are good.
type Options struct {
	Dimension int // 0: 512
	Min, Max  int // lengths of the runs of letters; 0: 3 and 5
}

// Embedder makes vectors of texts. It is safe for concurrent use.
type Embedder struct{ o Options }

// New makes an embedder.
func New(o *Options) *Embedder {
	e := &Embedder{}
	if o != nil {
		e.o = *o
	}
	if e.o.Dimension <= 0 {
		e.o.Dimension = 512
	}
	if e.o.Min <= 0 {
		e.o.Min = 3
	}
	if e.o.Max < e.o.Min {
		e.o.Max = max(e.o.Min, 5)
	}
	return e
}

// String names the model.
func (e *Embedder) String() string {
	return fmt.Sprintf("hashing-%d-%d-%d", e.o.Dimension, e.o.Min, e.o.Max)
}

// Embed implements the interface of memory drivers. It does not fail.
func (e *Embedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = e.vector(text)
	}
	return vectors, nil
}

// vector counts features, each with a sign of its own so that those that share a place
// cancel each other (Weinberger and others, 2009), and takes the logarithm of counts.
func (e *Embedder) vector(text string) []float32 {
	counts := map[string]float64{}
	isNone := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for _, w := range strings.FieldsFunc(strings.ToLower(text), isNone) {
		counts[w]++
		runes := []rune("^" + w + "$")
		for n := e.o.Min; n <= e.o.Max; n++ {
			for i := 0; i+n <= len(runes); i++ {
				counts["#"+string(runes[i:i+n])] += 1 / float64(len(runes))
			}
		}
	}
	v := make([]float32, e.o.Dimension)
	for feature, n := range counts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(feature)) // never fails
		sum := h.Sum64()
		sign := 1 - 2*float64(sum>>63)
		v[sum%uint64(len(v))] += float32(sign * math.Log1p(n))
	}
	return v
}
