package workspace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/openrath-go/rath/workspace"
)

// sizes are trees of so many files; 2,000 of them are 16 MB.
var sizes = []int{2_000, 10_000, 50_000}

// makeFiles fills a directory with files of 8 kB on average, 40 in each folder, half of it
// text and half of it noise.
func makeFiles(tb testing.TB, dir string, files int) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, uint64(files)))
	for i := range files {
		sub := filepath.Join(dir, fmt.Sprintf("d%02d", i/40%50), fmt.Sprintf("e%04d", i/40))
		if i%40 == 0 {
			must(tb, os.MkdirAll(sub, 0o755))
		}
		data := make([]byte, 0, 16<<10)
		for n := r.IntN(16 << 10); len(data) < n; {
			if i%2 == 0 {
				data = fmt.Appendf(data, "line %d of file %d has some words in it\n", len(data), i)
			} else {
				data = append(data, byte(r.Uint32()), byte(r.Uint32()))
			}
		}
		must(tb, os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.txt", i)), data, 0o644))
	}
}

func eachSize(b *testing.B, f func(b *testing.B, dir string, files int)) {
	for _, files := range sizes {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			if files > 10_000 && testing.Short() {
				b.Skip("short")
			}
			dir := b.TempDir()
			makeFiles(b, dir, files)
			time.Sleep(50 * time.Millisecond) // past the resolution of time stamps
			f(b, dir, files)
		})
	}
}

func BenchmarkSnapshotFirst(b *testing.B) {
	eachSize(b, func(b *testing.B, dir string, _ int) {
		for b.Loop() {
			b.StopTimer()
			s := openStore(b, nil)
			b.StartTimer()
			snapshot(b, s, dir)
		}
	})
}

func BenchmarkSnapshotUnchanged(b *testing.B) {
	eachSize(b, func(b *testing.B, dir string, _ int) {
		s := openStore(b, nil)
		snapshot(b, s, dir)
		for b.Loop() {
			snapshot(b, s, dir)
		}
	})
}

func BenchmarkSnapshotOneChanged(b *testing.B) {
	eachSize(b, func(b *testing.B, dir string, _ int) {
		s := openStore(b, nil)
		snapshot(b, s, dir)
		n := 0
		for b.Loop() {
			n++
			must(b, os.WriteFile(filepath.Join(dir, "d00", "e0000", "f0.txt"), fmt.Appendf(nil, "%d", n), 0o644))
			snapshot(b, s, dir)
		}
	})
}

func BenchmarkFork(b *testing.B) {
	for _, method := range []workspace.Method{workspace.Overlay, workspace.Reflink, workspace.Copy} {
		b.Run(string(method), func(b *testing.B) {
			if method == workspace.Reflink && os.Getuid() == 0 {
				b.Setenv("TMPDIR", mountFile(b, "btrfs"))
			}
			eachSize(b, func(b *testing.B, dir string, files int) {
				if method == workspace.Copy && files > 10_000 {
					b.Skip("it takes as long as it has files")
				}
				s := openStore(b, nil)
				id := snapshot(b, s, dir)
				options := &workspace.ForkOptions{Methods: []workspace.Method{method}}
				f, err := s.Fork(context.Background(), id, options) // the first makes what they share
				if err != nil {
					b.Skip(err)
				}
				must(b, f.Close())
				var forks []*workspace.Fork // closed at the end: ext4 is slow to make files after many were removed
				for b.Loop() {
					f, err := s.Fork(context.Background(), id, options)
					must(b, err)
					forks = append(forks, f)
				}
				for _, f := range forks {
					must(b, f.Close())
				}
			})
		})
	}
}

func BenchmarkDiff(b *testing.B) {
	eachSize(b, func(b *testing.B, dir string, _ int) {
		s := openStore(b, nil)
		from := snapshot(b, s, dir)
		must(b, os.WriteFile(filepath.Join(dir, "d00", "e0000", "f0.txt"), []byte("changed"), 0o644))
		to := snapshot(b, s, dir)
		for b.Loop() {
			_, err := s.Diff(context.Background(), from, to)
			must(b, err)
		}
	})
}

// BenchmarkKeep keeps a snapshot under names as a run does, beside a thousand others, half
// of which git has packed.
func BenchmarkKeep(b *testing.B) {
	ctx := context.Background()
	gitDir, dir := b.TempDir(), b.TempDir()
	s, err := workspace.Open(ctx, gitDir, nil)
	must(b, err)
	id := of("f", "f").written(b, s, dir)
	for i := range 1000 {
		must(b, s.Keep(ctx, fmt.Sprintf("runs/%d/before", i), id))
		if i == 500 {
			_, err := s.GC(ctx, nil)
			must(b, err)
		}
	}
	n := 0
	b.Run("keep", func(b *testing.B) {
		for b.Loop() {
			n++
			must(b, s.Keep(ctx, fmt.Sprintf("runs/now/%d", n), id))
		}
	})
	b.Run("drop", func(b *testing.B) {
		for b.Loop() {
			must(b, s.Drop(ctx, fmt.Sprintf("runs/now/%d", n)))
			n--
		}
	})
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			_, err := s.Kept(ctx, "runs")
			must(b, err)
		}
	})
}

// BenchmarkMergeAll merges sixteen branches of 2,000 files that changed one each.
func BenchmarkMergeAll(b *testing.B) {
	ctx := context.Background()
	s, dir := openStore(b, nil), b.TempDir()
	makeFiles(b, dir, sizes[0])
	base := snapshot(b, s, dir)
	var branches []workspace.ID
	for i := range 16 {
		must(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("new%d", i)), []byte("new"), 0o644))
		branches = append(branches, snapshot(b, s, dir))
	}
	for b.Loop() {
		_, err := s.MergeAll(ctx, base, branches, nil)
		must(b, err)
	}
}
