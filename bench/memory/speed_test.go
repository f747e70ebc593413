package memory

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/local"
)

// texts makes notes of 41 words, whose frequencies fall as those of a language do (Zipf).
// The first word is in all of them.
type texts struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newTexts() *texts {
	random := rand.New(rand.NewPCG(1, 2))
	return &texts{random, rand.NewZipf(random, 1.07, 8, 200_000)}
}

func (g *texts) note(i int) driver.Note {
	words := []string{"everywhere"}
	for range 39 {
		words = append(words, fmt.Sprintf("w%d", g.zipf.Uint64()))
	}
	words = append(words, fmt.Sprintf("rare%d", i/20)) // 20 notes have it
	return driver.Note{URI: driver.Root.Join("user", "memories", fmt.Sprint(i/500), fmt.Sprintf("%08x", i)), Text: strings.Join(words, " ")}
}

// selective has a word of 20 notes, and two that are found more often.
func (g *texts) selective(n int) string {
	return fmt.Sprintf("rare%d w%d w%d", g.random.IntN(n/20), 2000+g.random.IntN(20000), 500+g.random.IntN(1000))
}

func TestSpeed(t *testing.T) {
	sizes := []int{1000}
	switch {
	case *million:
		sizes = []int{1_000_000}
	case *full:
		sizes = []int{1000, 10_000, 100_000}
	}
	fmt.Printf("\n| notes | selective p50 | p99 | all match p50 | p99 | all match and selective p50 | p99 | written, in thousands | bytes a note | by OpenRath's method p50 |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, n := range sizes {
		speed(t, n)
	}
	single(t)
}

func speed(t *testing.T, n int) {
	dir := t.TempDir()
	s, err := local.OpenDriver(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	g := newTexts()
	start := time.Now()
	for i := 0; i < n; i += 1000 {
		notes := make([]driver.Note, 1000)
		for j := range notes {
			notes[j] = g.note(i + j)
		}
		if _, err := s.Put(t.Context(), driver.Replace, notes...); err != nil {
			t.Fatal(err)
		}
	}
	rate := float64(n) / time.Since(start).Seconds()
	find := func(text string) func() {
		return func() {
			found, err := s.Find(t.Context(), driver.Query{Text: text, Limit: 8})
			if err != nil || len(found.Hits) != 8 {
				t.Errorf("%s: %d hits, %v", text, len(found.Hits), err)
			}
		}
	}
	row := fmt.Sprintf("| %d ", n)
	for _, queries := range []func() string{
		func() string { return g.selective(n) },
		func() string { return "everywhere" },
		func() string { return "everywhere " + g.selective(n) },
	} {
		row += "| " + spread(200, func() func() { return find(queries()) })
	}
	row += fmt.Sprintf("| %.0f/s | %.0f ", rate, float64(size(dir))/float64(n))
	fmt.Print(row)
	fmt.Printf("| %s |\n", byFiles(t, n))
}

// spread gives the 50th and the 99th of a hundred times.
func spread(n int, next func() func()) string {
	var took []time.Duration
	for range n {
		f := next()
		start := time.Now()
		f()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return fmt.Sprintf("%v | %v ", round(took[n/2]), round(took[n*99/100]))
}

func round(d time.Duration) time.Duration { return d.Round(max(d/200, 1)).Round(time.Microsecond) }

func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// byFiles asks as OpenRath does: it reads all files for each query.
func byFiles(t *testing.T, n int) string {
	if n > 100_000 {
		return "not measured"
	}
	dir := t.TempDir()
	g := newTexts()
	for i := range n {
		note := g.note(i)
		file := filepath.Join(dir, note.URI.Path()+".md")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(note.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	took := spread(3, func() func() {
		text := g.selective(n)
		return func() {
			var all []string
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				all = append(all, string(data))
				return err
			})
			if err != nil || len(newBM25(all).find(text, 8)) == 0 {
				t.Error("nothing was found", err)
			}
		}
	})
	p50, _, _ := strings.Cut(took, " ")
	return p50
}

// single writes notes one by one, each on disk before the next.
func single(t *testing.T) {
	s, err := local.OpenDriver(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	g := newTexts()
	ctx, n := context.Background(), 0
	for start := time.Now(); time.Since(start) < 2*time.Second; n++ {
		if _, err := s.Put(ctx, driver.Merge, g.note(n)); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("\none by one: %d notes/s\n", n/2)
}
