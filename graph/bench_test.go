package graph

import (
	"fmt"
	"io"
	"slices"
	"testing"
)

func sizes(b *testing.B, run func(b *testing.B, g *Graph)) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		g := build(b, history(n)...)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			run(b, g)
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		heads := history(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				build(b, heads...)
			}
		})
	}
}

// BenchmarkAncestors walks from the session that all others come before.
func BenchmarkAncestors(b *testing.B) {
	sizes(b, func(b *testing.B, g *Graph) {
		n := 0
		from := g.heads[len(g.heads)-1].ID
		for b.Loop() {
			n = 0
			for range g.Ancestors(from) {
				n++
			}
		}
		b.ReportMetric(float64(n), "ancestors")
	})
}

// BenchmarkTotals sums everything: at most 200 ms for 100,000 sessions.
func BenchmarkTotals(b *testing.B) {
	sizes(b, func(b *testing.B, g *Graph) {
		ids := slices.Collect(g.Leaves())
		for b.Loop() {
			g.Totals(ids...)
		}
	})
}

func BenchmarkLayout(b *testing.B) {
	sizes(b, func(b *testing.B, g *Graph) {
		lanes := 0
		for b.Loop() {
			lanes = g.Layout().Lanes
		}
		b.ReportMetric(float64(lanes), "lanes")
	})
}

func BenchmarkFilter(b *testing.B) {
	sizes(b, func(b *testing.B, g *Graph) {
		for b.Loop() {
			g.Filter(Filter{Path: "review/step1"})
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	for _, w := range writers {
		b.Run(w.file, func(b *testing.B) {
			sizes(b, func(b *testing.B, g *Graph) {
				for b.Loop() {
					if err := w.write(g, io.Discard, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
