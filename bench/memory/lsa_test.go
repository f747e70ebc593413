package memory

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
)

// lsa is an embedding model that learns from the texts alone, without queries or labels:
// latent semantic analysis (Deerwester and others, 1990). A text is its stems and runs of 3
// to 5 letters, weighted by how rare they are, projected on the directions in which the
// texts differ most. It needs thousands of texts to learn from.
type lsa struct {
	features map[string]int
	idf      []float32
	basis    [][]float32 // for each feature
}

const lsaDim, lsaRounds = 250, 4

func newLSA(texts []string) *lsa {
	df := map[string]int{}
	for _, text := range texts {
		for f := range features(text) {
			df[f]++
		}
	}
	m := &lsa{features: map[string]int{}}
	for f, n := range df {
		if n > 1 {
			m.features[f] = 0
		}
	}
	// The order of a map is by chance, and sums of floats depend on it.
	names := make([]string, 0, len(m.features))
	for f := range m.features {
		names = append(names, f)
	}
	slices.Sort(names)
	for i, f := range names {
		w := math.Log(float64(len(texts)) / float64(df[f]))
		if strings.HasPrefix(f, "#") {
			w *= 0.3 // a word has many of them
		}
		m.features[f], m.idf = i, append(m.idf, float32(w))
	}
	m.learn(texts)
	return m
}

// learn finds the directions by randomized subspace iteration (Halko, Martinsson and Tropp,
// 2011). Only the space counts: cosines are the same in each of its bases.
func (m *lsa) learn(texts []string) {
	rows := make([][]cell, len(texts))
	for i, text := range texts {
		rows[i] = m.row(text)
	}
	random := rand.New(rand.NewPCG(1, 2))
	u := matrix(len(rows), min(lsaDim, len(rows)/2))
	for _, row := range u {
		for j := range row {
			row[j] = float32(random.NormFloat64())
		}
	}
	for range lsaRounds {
		v := m.times(rows, u)
		for i, row := range rows {
			clear(u[i])
			for _, c := range row {
				add(u[i], v[c.feature], c.weight)
			}
		}
		orthonormalize(u)
	}
	m.basis = m.times(rows, u)
	orthonormalize(m.basis)
}

// times is the transpose of rows, times u.
func (m *lsa) times(rows [][]cell, u [][]float32) [][]float32 {
	v := matrix(len(m.idf), len(u[0]))
	for i, row := range rows {
		for _, c := range row {
			add(v[c.feature], u[i], c.weight)
		}
	}
	return v
}

// cell is a place of a sparse row.
type cell struct {
	feature int
	weight  float32
}

// row is of length 1.
func (m *lsa) row(text string) []cell {
	var row []cell
	var sum float64
	for f, n := range features(text) {
		if i, ok := m.features[f]; ok {
			w := float32(1+math.Log(n)) * m.idf[i]
			row = append(row, cell{i, w})
			sum += float64(w) * float64(w)
		}
	}
	for i := range row {
		row[i].weight /= float32(math.Sqrt(sum))
	}
	slices.SortFunc(row, func(a, b cell) int { return a.feature - b.feature })
	return row
}

// features counts stems, runs of letters, and Chinese characters and pairs of them.
func features(text string) map[string]float64 {
	counts := map[string]float64{}
	isNone := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for _, w := range strings.FieldsFunc(strings.ToLower(text), isNone) {
		counts[english.Stem(w, true)]++
		runes := []rune("^" + w + "$")
		for i, r := range runes {
			if unicode.Is(unicode.Han, r) {
				counts[string(r)]++
				counts[string(runes[i:i+2])]++
			}
			for n := 3; n <= 5 && i+n <= len(runes); n++ {
				counts["#"+string(runes[i:i+n])]++
			}
		}
	}
	return counts
}

func matrix(rows, columns int) [][]float32 {
	all := make([]float32, rows*columns)
	m := make([][]float32, rows)
	for i := range m {
		m[i] = all[i*columns : (i+1)*columns]
	}
	return m
}

// orthonormalize makes the columns so, by Gram and Schmidt.
func orthonormalize(m [][]float32) {
	columns := transpose(m)
	for i, c := range columns {
		for _, o := range columns[:i] {
			var product float32
			for j := range c {
				product += c[j] * o[j]
			}
			add(c, o, -product)
		}
		copy(c, unit(c))
	}
	for i, c := range transpose(columns) {
		copy(m[i], c)
	}
}

func transpose(m [][]float32) [][]float32 {
	t := matrix(len(m[0]), len(m))
	for i, row := range m {
		for j, f := range row {
			t[j][i] = f
		}
	}
	return t
}

// String implements driver.Embedder.
func (m *lsa) String() string { return "latent semantic analysis" }

// Embed implements driver.Embedder.
func (m *lsa) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, len(m.basis[0]))
		for _, c := range m.row(text) {
			add(vectors[i], m.basis[c.feature], c.weight)
		}
	}
	return vectors, nil
}
