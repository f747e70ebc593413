//go:build unix

package local_test

import (
	"fmt"
	"os/exec"
	"sync"
	"testing"

	"github.com/openrath-go/rath/sandbox"
)

var levels = []string{sandbox.LevelHost, sandbox.LevelLandlock, sandbox.LevelBubblewrap}

// BenchmarkStart is what a command costs that does nothing, at each level and without a
// sandbox. The aims, over plain: host 2 ms, landlock 4 ms, bubblewrap 8 ms.
func BenchmarkStart(b *testing.B) {
	starts(b, func(b *testing.B, run func() error) {
		for b.Loop() {
			if err := run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStart64 is what 64 of them cost that are started at the same time.
func BenchmarkStart64(b *testing.B) {
	starts(b, func(b *testing.B, run func() error) {
		for b.Loop() {
			var all sync.WaitGroup
			for range 64 {
				all.Go(func() {
					if err := run(); err != nil {
						b.Error(err)
					}
				})
			}
			all.Wait()
		}
	})
}

func starts(b *testing.B, bench func(*testing.B, func() error)) {
	b.Run("plain", func(b *testing.B) {
		bench(b, func() error { return exec.CommandContext(b.Context(), "/bin/true").Run() })
	})
	for _, level := range levels {
		b.Run(level, func(b *testing.B) {
			s := openAt(b, level, nil)
			bench(b, func() error {
				r, err := s.Exec(b.Context(), sandbox.Command{Args: []string{"/bin/true"}})
				if err == nil && r.ExitCode != 0 {
					err = fmt.Errorf("exit code %d: %s", r.ExitCode, r.Stderr)
				}
				return err
			})
		})
	}
}
