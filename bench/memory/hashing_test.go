package memory

import (
	"context"
	"hash/fnv"
	"math"
	"strings"
	"unicode"
)

// hashing makes vectors of texts without a model: words and the runs of 3 to 5 letters in
// them are hashed into a vector's places, each with a sign of its own so that those that
// share a place cancel each other (Weinberger and others, 2009). It is here, and not part
// of Rath, because what it adds makes answers worse.
type hashing struct{}

// String implements driver.Embedder.
func (hashing) String() string { return "hashed n-grams" }

// Embed implements driver.Embedder.
func (hashing) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = hashed(text)
	}
	return vectors, nil
}

func hashed(text string) []float32 {
	counts := map[string]float64{}
	isNone := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for _, w := range strings.FieldsFunc(strings.ToLower(text), isNone) {
		counts[w]++
		runes := []rune("^" + w + "$")
		for n := 3; n <= 5; n++ {
			for i := 0; i+n <= len(runes); i++ {
				counts["#"+string(runes[i:i+n])] += 1 / float64(len(runes))
			}
		}
	}
	v := make([]float32, 512)
	for feature, n := range counts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(feature)) // never fails
		sum := h.Sum64()
		sign := 1 - 2*float64(sum>>63)
		v[sum%uint64(len(v))] += float32(sign * math.Log1p(n))
	}
	return v
}
