package workspace_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openrath-go/rath/workspace"
)

var together = flag.Duration("together", 2*time.Second, "how long several processes use one store")

// work is what one of several processes does with a store: its job is the store, a
// directory of its own, and its name. It says what it kept under which names.
func work(ctx context.Context, s *workspace.Store, job []string) error {
	dir, name := job[2], job[3]
	limit, err := time.ParseDuration(job[4])
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	end := time.Now().Add(limit)
	for n := 0; time.Now().Before(end); n++ {
		w := &worker{s: s, dir: dir, name: fmt.Sprintf("%s/%d", name, n), r: r}
		if err := w.round(ctx); err != nil {
			return err
		}
		if n%4 == 3 {
			if _, err := s.GC(ctx, &workspace.GCOptions{Grace: time.Minute}); err != nil {
				return err
			}
		}
	}
	return nil
}

type worker struct {
	s         *workspace.Store
	dir, name string
	r         *rand.Rand
}

// round takes a snapshot, changes it in two forks, and merges those. The merge must have
// both changes.
func (w *worker) round(ctx context.Context) error {
	for range []int{3, 80}[w.r.IntN(2)] {
		if err := os.WriteFile(filepath.Join(w.dir, numbered(w.r.IntN(100))), []byte(unique(w.r)), 0o644); err != nil {
			return err
		}
	}
	base, err := w.s.Snapshot(ctx, w.dir)
	if err != nil {
		return err
	}
	var branches []workspace.ID
	for _, file := range []string{"one", "two"} {
		id, err := w.branch(ctx, base.ID, file)
		if err != nil {
			return err
		}
		branches = append(branches, id)
	}
	m, err := w.s.MergeAll(ctx, base.ID, branches, nil)
	if err != nil {
		return err
	}
	if err := w.s.Keep(ctx, w.name, m.ID); err != nil {
		return err
	}
	changes, err := w.s.Diff(ctx, base.ID, m.ID)
	if err != nil {
		return err
	}
	if len(changes) != 2 || len(m.Conflicts) > 0 {
		return fmt.Errorf("merged: %+v, in conflict %+v", changes, m.Conflicts)
	}
	fmt.Println(w.name, m.ID)
	return nil
}

// branch adds a file in a fork.
func (w *worker) branch(ctx context.Context, base workspace.ID, file string) (id workspace.ID, err error) {
	f, err := w.s.Fork(ctx, base, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := os.WriteFile(filepath.Join(f.Dir, file), []byte(w.name), 0o644); err != nil {
		return "", err
	}
	snap, err := w.s.Snapshot(ctx, f.Dir)
	if err != nil {
		return "", err
	}
	return snap.ID, nil
}

// TestProcessesTogether has processes fork, merge and collect in one store at one time.
func TestProcessesTogether(t *testing.T) {
	ctx := context.Background()
	gitDir := t.TempDir()
	s, err := workspace.Open(ctx, gitDir, nil)
	must(t, err)
	var g errgroup.Group
	said := make([]string, 4)
	for i := range said {
		cmd := process(t, "worker", gitDir, t.TempDir(), fmt.Sprint("worker", i), together.String())
		g.Go(func() error {
			out, err := cmd.Output()
			said[i] = string(out)
			return err
		})
	}
	must(t, g.Wait())
	for range 2 {
		kept, err := s.Kept(ctx, "")
		must(t, err)
		rounds := 0
		for i, text := range said {
			if text == "" {
				t.Errorf("worker %d did nothing", i)
			}
			for line := range strings.Lines(text) {
				name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
				if kept[name] != workspace.ID(id) {
					t.Errorf("%s is %q, not %q", name, kept[name], id)
					continue
				}
				m := contents(t, s, workspace.ID(id))
				if m["one"].Content != name || m["two"].Content != name {
					t.Errorf("%s has %+v and %+v", name, m["one"], m["two"])
				}
				rounds++
			}
		}
		if rounds != len(kept) {
			t.Errorf("%d rounds, %d names", rounds, len(kept))
		}
		t.Logf("%d rounds", rounds)
		_, err = s.GC(ctx, &workspace.GCOptions{Grace: -1})
		must(t, err)
	}
	nothingLeft(t, gitDir, gitDir)
	if out, err := plumbing(gitDir, "fsck", "--full"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
