package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/openrath-go/rath/workspace"
)

// TestMachineWentDown tears what was written last, as a machine does that goes down before
// it is on disk. What is older is there, and what is taken after is whole.
func TestMachineWentDown(t *testing.T) {
	ctx := context.Background()
	for name, tear := range map[string]func(data []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"half":    func(data []byte) []byte { return data[:len(data)/2] },
		"zeroes":  func(data []byte) []byte { return make([]byte, len(data)) },
		"rubbish": func(data []byte) []byte { return append([]byte{0x78, 0x01}, data[:len(data)-2]...) },
	} {
		t.Run(name, func(t *testing.T) {
			gitDir, dir := t.TempDir(), t.TempDir()
			s, err := workspace.Open(ctx, gitDir, nil)
			must(t, err)
			if _, err := os.Stat(filepath.Join(gitDir, "rath", "boot")); err != nil {
				t.Skip("the system does not tell when it was started")
			}
			old := of("old", "old", "d/f", "f")
			first := old.written(t, s, dir)
			must(t, s.Keep(ctx, "old", first))
			loose, err := filepath.Glob(filepath.Join(gitDir, "objects", "??", "*"))
			must(t, err)
			long := time.Now().Add(-time.Hour)
			settled := make(map[string]bool)
			for _, o := range loose {
				must(t, os.Chtimes(o, long, long))
				settled[o] = true
			}
			last := of("old", "old", "d/f", "f", "new", "new", "d/g", "g")
			second := last.written(t, s, dir)
			must(t, s.Keep(ctx, "torn", second))
			loose, err = filepath.Glob(filepath.Join(gitDir, "objects", "??", "*"))
			must(t, err)
			for _, o := range loose {
				if info, err := os.Stat(o); settled[o] && err == nil && time.Since(info.ModTime()) > time.Minute {
					continue
				}
				data, err := os.ReadFile(o)
				must(t, err)
				must(t, os.Chmod(o, 0o600))
				must(t, os.WriteFile(o, tear(data), 0o600))
			}
			must(t, os.WriteFile(filepath.Join(gitDir, "rath", "boot"), []byte("another"), 0o600))

			s, err = workspace.Open(ctx, gitDir, nil)
			must(t, err)
			if _, err := s.List(ctx, second); !errors.Is(err, workspace.ErrUnknown) && !errors.Is(err, workspace.ErrCorrupt) {
				t.Errorf("a torn snapshot: %v", err)
			}
			_, err = s.GC(ctx, nil)
			var e *workspace.Error
			if !errors.Is(err, workspace.ErrCorrupt) || !errors.As(err, &e) || e.Hint() == "" {
				t.Errorf("a collection with a torn snapshot: %v", err)
			}
			must(t, s.Drop(ctx, "torn"))
			if again := snapshot(t, s, dir); again != second {
				t.Errorf("the directory is %s, not %s", again, second)
			}
			for i, want := range []model{old, last} {
				if d := diffModels(want, contents(t, s, []workspace.ID{first, second}[i])); d != "" {
					t.Errorf("snapshot %d (-want +got):\n%s", i, d)
				}
			}
			_, err = s.GC(ctx, &workspace.GCOptions{Grace: -1})
			must(t, err)
			if out, err := plumbing(gitDir, "fsck", "--full"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestForkAfterMachineWentDown makes layers anew that may be torn.
func TestForkAfterMachineWentDown(t *testing.T) {
	eachMethod(t, func(t *testing.T, method workspace.Method) {
		ctx := context.Background()
		gitDir, dir := t.TempDir(), t.TempDir()
		s, err := workspace.Open(ctx, gitDir, nil)
		must(t, err)
		m := model{}
		for i := range 20 {
			m.put(fmt.Sprintf("d/%d", i), file(fmt.Sprint("file ", i)))
		}
		id := m.written(t, s, dir)
		must(t, forkBy(t, s, id, method).Close())
		layers, err := filepath.Glob(filepath.Join(gitDir, "rath", "layers", "*", "*", "fs", "d", "*"))
		must(t, err)
		for _, name := range layers {
			must(t, os.Truncate(name, 0))
		}
		must(t, os.WriteFile(filepath.Join(gitDir, "rath", "boot"), []byte("another"), 0o600))
		s, err = workspace.Open(ctx, gitDir, nil)
		must(t, err)
		f := forkBy(t, s, id, method)
		if d := diffModels(m, readModel(t, f.Dir)); d != "" {
			t.Errorf("a fork after that (-want +got):\n%s", d)
		}
	})
}
