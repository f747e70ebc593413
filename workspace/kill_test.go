package workspace_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openrath-go/rath/workspace"
)

var kills = flag.Int("kills", 3, "how often each operation is killed")

// victim is a process that does one thing over and over, until it is killed. It notes in a
// log what was kept, once it was.
type victim struct {
	s              *workspace.Store
	dir, other, at string // two directories, and where forks are made
	log            *os.File
	r              *rand.Rand
	last           [2]workspace.ID
}

// victimFiles is how many files its directory has: enough for a snapshot to make a pack.
const victimFiles = 100

// victims are what they do, once there are two snapshots.
var victims = map[string]func(ctx context.Context, v *victim, n int) error{
	"snapshot": func(ctx context.Context, v *victim, n int) error { return nil },
	"keep": func(ctx context.Context, v *victim, n int) error {
		for i := range 30 {
			if err := v.keep(ctx, fmt.Sprintf("many/%d", i), v.last[i%2]); err != nil {
				return err
			}
			if err := v.drop(ctx, fmt.Sprintf("many/%d", v.r.IntN(30))); err != nil {
				return err
			}
		}
		return nil
	},
	"overlay": func(ctx context.Context, v *victim, n int) error { return v.fork(ctx, n, workspace.Overlay) },
	"copy": func(ctx context.Context, v *victim, n int) error {
		return v.fork(ctx, n, workspace.Reflink, workspace.Copy)
	},
	"merge": func(ctx context.Context, v *victim, n int) error {
		m, err := v.s.MergeAll(ctx, v.last[0], []workspace.ID{v.last[1], v.last[0]}, nil)
		if err != nil {
			return err
		}
		return v.keep(ctx, "merged", m.ID)
	},
	"restore": func(ctx context.Context, v *victim, n int) error {
		_, err := v.s.Restore(ctx, v.other, v.last[n%2])
		return err
	},
	"apply": func(ctx context.Context, v *victim, n int) error {
		if _, err := v.s.Restore(ctx, v.other, v.last[0]); err != nil {
			return err
		}
		_, err := v.s.Apply(ctx, v.other, v.last[0], v.last[1])
		return err
	},
	"collect": func(ctx context.Context, v *victim, n int) error {
		if err := v.fork(ctx, n, workspace.Overlay, workspace.Copy); err != nil {
			return err
		}
		_, err := v.s.GC(ctx, &workspace.GCOptions{Grace: -1})
		return err
	},
}

// beVictim is what the process does: its job is the store, a directory for all else, a seed
// and what to do.
func beVictim(ctx context.Context, s *workspace.Store, job []string) error {
	seed, err := strconv.ParseUint(job[3], 10, 64)
	if err != nil {
		return err
	}
	v := &victim{s: s, dir: filepath.Join(job[2], "dir"), other: filepath.Join(job[2], "other"), at: job[2], r: rand.New(rand.NewPCG(seed, 1))}
	if v.log, err = os.OpenFile(filepath.Join(job[2], "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	for n := 0; ; n++ {
		for range []int{3, victimFiles}[n%2] {
			name := filepath.Join(v.dir, numbered(v.r.IntN(victimFiles)))
			if err := os.WriteFile(name, bytes.Repeat([]byte(unique(v.r)), v.r.IntN(400)), 0o644); err != nil {
				return err
			}
		}
		snap, err := s.Snapshot(ctx, v.dir)
		if err != nil {
			return err
		}
		if err := v.keep(ctx, fmt.Sprintf("kept/%d", n%5), snap.ID); err != nil {
			return err
		}
		v.last[0], v.last[1] = v.last[1], snap.ID
		if n == 0 {
			continue
		}
		if n == 1 {
			fmt.Println("ready")
		}
		if err := victims[job[4]](ctx, v, n); err != nil {
			return err
		}
	}
}

func (v *victim) keep(ctx context.Context, name string, id workspace.ID) error {
	if _, err := fmt.Fprintln(v.log, "changing", name); err != nil {
		return err
	}
	if err := v.s.Keep(ctx, name, id); err != nil {
		return err
	}
	_, err := fmt.Fprintln(v.log, "is", name, id)
	return err
}

func (v *victim) drop(ctx context.Context, name string) error {
	if _, err := fmt.Fprintln(v.log, "changing", name); err != nil {
		return err
	}
	if err := v.s.Drop(ctx, name); err != nil {
		return err
	}
	_, err := fmt.Fprintln(v.log, "is", name, "dropped")
	return err
}

// fork makes one here or there, works in it, and closes it or does not.
func (v *victim) fork(ctx context.Context, n int, methods ...workspace.Method) error {
	options := &workspace.ForkOptions{Methods: methods}
	if n%2 == 0 {
		options.Dir = filepath.Join(v.at, "forks", fmt.Sprint(os.Getpid(), n))
	}
	f, err := v.s.Fork(ctx, v.last[n/2%2], options)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.Dir, "work"), []byte(f.Dir), 0o644); err != nil {
		return err
	}
	if n%3 == 0 {
		return nil
	}
	return f.Close()
}

// TestKilledAnywhere kills processes in the middle of whatever they do, and goes on with
// their store: what was kept is there to the byte, what was left is found and removed.
func TestKilledAnywhere(t *testing.T) {
	for what := range victims {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			gitDir, at := t.TempDir(), t.TempDir()
			for _, d := range []string{"dir", "other", "forks"} {
				must(t, os.Mkdir(filepath.Join(at, d), 0o755))
			}
			if what == "overlay" {
				s, err := workspace.Open(context.Background(), t.TempDir(), nil)
				must(t, err)
				forkBy(t, s, of("f", "f").written(t, s, t.TempDir()), workspace.Overlay)
			}
			seed := rand.Uint64()
			for round := range *kills {
				cmd := process(t, "victim", gitDir, at, fmt.Sprint(seed+uint64(round)), what)
				started(t, cmd)
				time.Sleep(time.Duration(rand.IntN(120_000)) * time.Microsecond)
				kill(t, cmd)
				survives(t, gitDir, at)
				if t.Failed() {
					t.Fatalf("round %d of seed %d", round, seed)
				}
			}
		})
	}
}

// survives checks a store whose process was killed.
func survives(t *testing.T, gitDir, at string) {
	t.Helper()
	ctx := context.Background()
	s, err := workspace.Open(ctx, gitDir, nil)
	must(t, err)
	before := asLogged(t, s, filepath.Join(at, "log"))
	dir := filepath.Join(at, "dir")
	if d := diffModels(readModel(t, dir), contents(t, s, snapshot(t, s, dir))); d != "" {
		t.Errorf("the next snapshot (-want +got):\n%s", d)
	}
	other := filepath.Join(at, "other")
	for name, m := range before {
		restore(t, s, other, m.id)
		if d := diffModels(m.model, readModel(t, other)); d != "" {
			t.Errorf("%s restored (-want +got):\n%s", name, d)
		}
		break
	}
	c, err := s.GC(ctx, &workspace.GCOptions{Grace: -1})
	must(t, err)
	after := asLogged(t, s, filepath.Join(at, "log"))
	for _, o := range c.Orphans {
		if o.Err != nil {
			t.Errorf("orphan %+v", o)
		}
		if work, ok := after[o.Kept].model["work"]; o.Kept != "" && (!ok || work.Content != o.Dir && work.Content != "") { // empty: killed before it was written
			t.Errorf("orphan %+v has no work in it", o)
		}
		if o.Kept != "" {
			must(t, s.Drop(ctx, o.Kept))
		}
	}
	for name, was := range before {
		if d := diffModels(was.model, after[name].model); d != "" {
			t.Errorf("%s after a collection (-want +got):\n%s", name, d)
		}
	}
	nothingLeft(t, gitDir, at)
	if out, err := plumbing(gitDir, "fsck", "--full"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// kept is a snapshot that a name stands for.
type kept struct {
	id    workspace.ID
	model model
}

// asLogged reads all of what is kept, and compares with what was logged.
func asLogged(t *testing.T, s *workspace.Store, log string) map[string]kept {
	t.Helper()
	names, err := s.Kept(context.Background(), "")
	must(t, err)
	data, err := os.ReadFile(log)
	must(t, err)
	want := make(map[string]workspace.ID)
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if words[0] == "changing" {
			delete(want, words[1])
		} else {
			want[words[1]] = workspace.ID(words[2])
		}
	}
	for name, id := range want {
		if id == "dropped" {
			id = ""
		}
		if names[name] != id {
			t.Errorf("%s is %q, not %q", name, names[name], id)
		}
	}
	all := make(map[string]kept)
	for name, id := range names {
		all[name] = kept{id, contents(t, s, id)}
	}
	return all
}

// nothingLeft checks that a store has nothing that is of no use.
func nothingLeft(t *testing.T, gitDir, at string) {
	t.Helper()
	for _, pattern := range []string{"rath/forks/*", "rath/tmp/*", "objects/tmp_*", "objects/*/tmp_*", "objects/pack/.tmp*", "*.lock", "refs/rath/*.lock", "refs/rath/*/*.lock"} {
		if names, _ := filepath.Glob(filepath.Join(gitDir, filepath.FromSlash(pattern))); len(names) > 0 {
			t.Errorf("left behind: %v", names)
		}
	}
	if forks, _ := filepath.Glob(filepath.Join(at, "forks", "*")); len(forks) > 0 {
		t.Errorf("forks left behind: %v", forks)
	}
	packs, _ := filepath.Glob(filepath.Join(gitDir, "objects", "pack", "*.pack"))
	for _, name := range packs {
		if _, err := os.Stat(strings.TrimSuffix(name, ".pack") + ".idx"); err != nil {
			t.Errorf("a pack without an index: %v", err)
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo") // where there is such a thing
	if bytes.Contains(mounts, []byte(gitDir)) || bytes.Contains(mounts, []byte(at)) {
		t.Error("something is still mounted")
	}
}
