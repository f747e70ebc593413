package session

import (
	"fmt"
	"runtime"
	"testing"
)

var (
	sinkSession Session
	sinkInt     int
)

func long(n int) Session {
	var t Transcript
	c := User(Text("hello"))
	for range n {
		t = t.Append(c)
	}
	return FromUser("x").Derive(t, Step{})
}

func sizes(b *testing.B, run func(b *testing.B, n int)) {
	for _, n := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { run(b, n) })
	}
}

// BenchmarkFork: at most 150 ns and 200 B, whatever the length.
func BenchmarkFork(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s := long(n)
		b.ReportAllocs()
		for b.Loop() {
			sinkSession = s.Fork()
		}
	})
}

// BenchmarkForksHeld: 10,000 forks of a 10,000-chunk session hold at most 5 MB.
func BenchmarkForksHeld(b *testing.B) {
	s := long(10_000)
	for b.Loop() {
		forks := make([]Session, 10_000)
		before := heapBytes()
		for i := range forks {
			forks[i] = s.Fork()
		}
		b.ReportMetric(float64(heapBytes()-before)/1e6, "MB-held")
		runtime.KeepAlive(forks)
	}
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkAppend: one chunk, flat in length.
func BenchmarkAppend(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		t, c := long(n).Transcript(), User(Text("hello"))
		b.ReportAllocs()
		for b.Loop() {
			sinkInt += t.Append(c).Len()
		}
	})
}

// BenchmarkIterate: 10,000 chunks in at most 100 us.
func BenchmarkIterate(b *testing.B) {
	s := long(10_000)
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range s.All() {
			sinkInt += int(c.Kind())
		}
	}
}

// BenchmarkAncestors walks 10,000 chained forks.
func BenchmarkAncestors(b *testing.B) {
	s := FromUser("x")
	for range 10_000 {
		s = s.Fork()
	}
	for b.Loop() {
		for range s.Ancestors() {
			sinkInt++
		}
	}
}

// branches share a prefix of n chunks and have three of their own.
func branches(n int) (a, b Session) {
	base := long(n)
	return base.Fork().Append(label("a", 3)...), base.Fork().Append(label("b", 3)...)
}

// BenchmarkDiff: the cost is that of what differs, not of the prefix.
func BenchmarkDiff(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		x, y := branches(n)
		for b.Loop() {
			sinkInt += Diff(x, y).Common
		}
	})
}

// BenchmarkMerge: the cost is that of what differs, not of the prefix.
func BenchmarkMerge(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		x, y := branches(n)
		for b.Loop() {
			sinkSession, _ = Merge(x, y)
		}
	})
}

// BenchmarkCommonAncestor: the cost is that of the steps since.
func BenchmarkCommonAncestor(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		base := FromUser("x")
		for range n {
			base = base.Fork()
		}
		x, y := base.Fork().Append(), base.Fork().Append()
		for b.Loop() {
			sinkSession, _ = CommonAncestor(x, y)
		}
	})
}

// BenchmarkDigest: of one more chunk on a transcript whose digest is known.
func BenchmarkDigest(b *testing.B) {
	t, c := long(1000).Transcript(), User(Text("hello"))
	t.Digest()
	b.ReportAllocs()
	for b.Loop() {
		d := t.Append(c).Digest()
		sinkInt += int(d[0])
	}
}
