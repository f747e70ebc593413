package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/openrath-go/rath/workspace"
)

// disk is a small file system of its own.
type disk struct {
	t   *testing.T
	dir string
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{t, t.TempDir()}
	if err := syscall.Mount("rath-test", d.dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("no file system of its own: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(d.dir, syscall.MNT_DETACH)) })
	return d
}

func (d *disk) filler() string { return filepath.Join(d.dir, "filler") }

// fill leaves only so many bytes free.
func (d *disk) fill(free int64) {
	d.t.Helper()
	f, err := os.Create(d.filler())
	must(d.t, err)
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
	info, err := f.Stat()
	must(d.t, err)
	must(d.t, f.Truncate(max(info.Size()-free, 0)))
}

func (d *disk) empty() { must(d.t, os.Remove(d.filler())) }

// crowded is what there is when a disk fills up.
type crowded struct {
	t          *testing.T
	s          *workspace.Store
	dir, inner string // a directory elsewhere, and one on the disk
	base, a, b workspace.ID
	r          *rand.Rand
}

// edit gives some files other contents.
func (c *crowded) edit(files ...int) workspace.ID {
	c.t.Helper()
	for _, n := range files {
		text := strings.Repeat(unique(c.r), 3) + fmt.Sprintf("%x", bytes.Repeat([]byte{byte(c.r.Uint32())}, 2000))
		must(c.t, os.WriteFile(filepath.Join(c.dir, numbered(n)), []byte(text), 0o644))
	}
	return snapshot(c.t, c.s, c.dir)
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// whenFull are operations, and what to have ready for them.
var whenFull = map[string]func(ctx context.Context, c *crowded) (try func() error){
	"snapshot of little": func(ctx context.Context, c *crowded) func() error {
		must(c.t, os.WriteFile(filepath.Join(c.dir, "new"), []byte(unique(c.r)), 0o644))
		return func() error { _, err := c.s.Snapshot(ctx, c.dir); return err }
	},
	"snapshot of much": func(ctx context.Context, c *crowded) func() error {
		for i := range 90 {
			must(c.t, os.WriteFile(filepath.Join(c.dir, "new"+numbered(i)), []byte(strings.Repeat(unique(c.r), 100)), 0o644))
		}
		return func() error { _, err := c.s.Snapshot(ctx, c.dir); return err }
	},
	"keep": func(ctx context.Context, c *crowded) func() error {
		return func() error { return c.s.Keep(ctx, "another/one", c.a) }
	},
	"drop": func(ctx context.Context, c *crowded) func() error {
		must(c.t, c.s.Keep(ctx, "packed", c.a))
		_, err := c.s.GC(ctx, nil)
		must(c.t, err)
		return func() error { return c.s.Drop(ctx, "packed") }
	},
	"merge": func(ctx context.Context, c *crowded) func() error {
		return func() error { _, err := c.s.Merge(ctx, c.base, c.a, c.b, nil); return err }
	},
	"fork by overlay": func(ctx context.Context, c *crowded) func() error { return c.fork(ctx, workspace.Overlay) },
	"fork by copy":    func(ctx context.Context, c *crowded) func() error { return c.fork(ctx, workspace.Copy) },
	"restore": func(ctx context.Context, c *crowded) func() error {
		restore(c.t, c.s, c.inner, c.base)
		return func() error { _, err := c.s.Restore(ctx, c.inner, c.a); return err }
	},
	"apply": func(ctx context.Context, c *crowded) func() error {
		restore(c.t, c.s, c.inner, c.b)
		return func() error { _, err := c.s.Apply(ctx, c.inner, c.base, c.a); return err }
	},
	"collect": func(ctx context.Context, c *crowded) func() error {
		return func() error { _, err := c.s.GC(ctx, &workspace.GCOptions{Grace: -1}); return err }
	},
}

func (c *crowded) fork(ctx context.Context, method workspace.Method) func() error {
	forkBy(c.t, c.s, of("f", "f").written(c.t, c.s, c.t.TempDir()), method)
	return func() error {
		f, err := c.s.Fork(ctx, c.a, &workspace.ForkOptions{Methods: []workspace.Method{method}})
		if err != nil {
			return err
		}
		if d := diffModels(contents(c.t, c.s, c.a), readModel(c.t, f.Dir)); d != "" {
			c.t.Errorf("the fork (-want +got):\n%s", d)
		}
		return f.Close()
	}
}

// TestDiskFullAnywhere has a disk fill up in whatever is done: the error says so, nothing is
// lost, and it works when there is space again.
func TestDiskFullAnywhere(t *testing.T) {
	ctx := context.Background()
	for name, prepare := range whenFull {
		t.Run(name, func(t *testing.T) {
			failed := 0
			for _, free := range []int64{0, 48 << 10} {
				d := newDisk(t)
				gitDir := filepath.Join(d.dir, "store")
				s, err := workspace.Open(ctx, gitDir, nil)
				must(t, err)
				c := &crowded{t: t, s: s, dir: t.TempDir(), inner: filepath.Join(d.dir, "inner"), r: rand.New(rand.NewPCG(1, uint64(free)))}
				must(t, os.Mkdir(c.inner, 0o755))
				c.base, c.a = c.edit(upTo(90)...), c.edit(upTo(40)...)
				restore(t, s, c.dir, c.base)
				c.b = c.edit(50, 51, 52)
				want := make(map[string]model)
				for name, id := range map[string]workspace.ID{"base": c.base, "a": c.a, "b": c.b} {
					must(t, s.Keep(ctx, name, id))
					want[name] = contents(t, s, id)
				}
				try := prepare(ctx, c)
				d.fill(free)
				err = try()
				var e *workspace.Error
				if err != nil {
					failed++
					if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &e) || e.Hint() == "" {
						t.Errorf("with %d bytes free: %v", free, err)
					}
				}
				check := func(when string) {
					kept, err := s.Kept(ctx, "")
					must(t, err)
					for name, m := range want {
						if d := diffModels(m, contents(t, s, kept[name])); d != "" {
							t.Errorf("with %d bytes free, %s, %s (-want +got):\n%s", free, when, name, d)
						}
					}
				}
				check("while it is full")
				for _, pattern := range []string{"store/objects/*/tmp_*", "store/objects/tmp_*", "store/rath/tmp/*", "inner/.rath-tmp-*"} {
					if left, _ := filepath.Glob(filepath.Join(d.dir, filepath.FromSlash(pattern))); len(left) > 0 && name != "collect" {
						t.Errorf("left behind: %v", left) // by git, if collecting
					}
				}
				d.empty()
				if err := try(); err != nil {
					t.Errorf("with %d bytes free before, and space again: %v", free, err)
				}
				check("with space again")
				if _, err := s.GC(ctx, &workspace.GCOptions{Grace: -1}); err != nil {
					t.Errorf("collecting after that: %v", err)
				}
				check("after a collection")
				if out, err := plumbing(gitDir, "fsck", "--full"); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			}
			if failed == 0 {
				t.Error("the disk was never too small")
			}
		})
	}
}

// TestDiskFullCollecting has no space to keep what is in the fork of a process that is gone:
// the fork stays until there is.
func TestDiskFullCollecting(t *testing.T) {
	ctx := context.Background()
	d := newDisk(t)
	gitDir, dir := filepath.Join(d.dir, "store"), t.TempDir()
	s, err := workspace.Open(ctx, gitDir, nil)
	must(t, err)
	id := of("f", "f").written(t, s, dir)
	cmd := process(t, "fork", gitDir, string(id))
	said := started(t, cmd)
	kill(t, cmd)
	d.fill(0)
	c, err := s.GC(ctx, nil)
	if c == nil || len(c.Orphans) != 1 || !errors.Is(c.Orphans[0].Err, syscall.ENOSPC) {
		t.Fatalf("a collection on a full disk: %+v, %v", c, err)
	}
	if _, err := os.Lstat(filepath.Join(said[:strings.LastIndexByte(said, ' ')], "unsaved")); err != nil {
		t.Errorf("what was in the fork: %v", err)
	}
	d.empty()
	c, err = s.GC(ctx, nil)
	must(t, err)
	if len(c.Orphans) != 1 || c.Orphans[0].Err != nil {
		t.Fatalf("orphans: %+v", c.Orphans)
	}
	if d := diffModels(of("f", "f", "unsaved", "work"), contents(t, s, c.Orphans[0].Snapshot)); d != "" {
		t.Errorf("what was in it (-want +got):\n%s", d)
	}
}
