package workspace_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openrath-go/rath/workspace"
)

func TestSnapshotThenRestoreIsIdentity(t *testing.T) {
	t.Parallel()
	s, dir, other := openStore(t, &workspace.Options{Ignored: true}), t.TempDir(), t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		a := drawModel(rt)
		b := a.edited(rt)
		first := a.written(t, s, dir)
		second := b.written(t, s, dir)
		if (first == second) != (diffModels(a, b) == "") {
			rt.Fatalf("snapshots are equal: %v, trees differ: %s", first == second, diffModels(a, b))
		}
		if d := diffModels(a, contents(t, s, first)); d != "" {
			rt.Fatalf("the snapshot is not the directory (-want +got):\n%s", d)
		}
		restore(t, s, dir, first)
		if d := diffModels(a, readModel(t, dir)); d != "" {
			rt.Fatalf("restored in place (-want +got):\n%s", d)
		}
		restore(t, s, other, second)
		if d := diffModels(b, readModel(t, other)); d != "" {
			rt.Fatalf("restored elsewhere (-want +got):\n%s", d)
		}
		if again := snapshot(t, s, other); again != second {
			rt.Fatalf("the snapshot of what was restored is %s, not %s", again, second)
		}
	})
}

func TestApplyReachesTarget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, dir := openStore(t, &workspace.Options{Ignored: true}), t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		a := drawModel(rt)
		b := a.edited(rt)
		from, to := a.written(t, s, dir), b.written(t, s, dir)
		a.write(t, dir)
		before, err := s.Apply(ctx, dir, from, to)
		if err != nil || before != from {
			rt.Fatalf("apply: %v, before %s, not %s", err, before, from)
		}
		if d := diffModels(b, readModel(t, dir)); d != "" {
			rt.Fatalf("applied (-want +got):\n%s", d)
		}
	})
}

// TestPatchReachesTarget compares what patches tell of: files and links, not directories
// and not all permissions.
func TestPatchReachesTarget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, dir := openStore(t, &workspace.Options{Ignored: true}), t.TempDir()
	flat := func(m model) model {
		m = m.clone()
		for p, e := range m {
			switch {
			case e.Mode.IsDir():
				delete(m, p)
			case e.Mode.IsRegular():
				m[p] = plainEntry{e.Mode & 0o100, e.Content}
			}
		}
		return m
	}
	rapid.Check(t, func(rt *rapid.T) {
		a := drawModel(rt)
		b := a.edited(rt)
		if a.ambiguous() || b.ambiguous() {
			rt.Skip("git does not read its own headers with such names")
		}
		from, to := a.written(t, s, dir), b.written(t, s, dir)
		a.write(t, dir)
		var patch bytes.Buffer
		must(t, s.Patch(ctx, &patch, from, to, &workspace.PatchOptions{Binary: true}))
		if patch.Len() == 0 {
			return
		}
		if _, err := s.ApplyPatch(ctx, dir, bytes.NewReader(patch.Bytes())); err != nil {
			rt.Fatalf("%v\n%s", err, patch.Bytes())
		}
		if d := diffModels(flat(b), flat(readModel(t, dir))); d != "" {
			rt.Fatalf("patched (-want +got):\n%s", d)
		}
	})
}

// ambiguous reports names with a space before a slash.
func (m model) ambiguous() bool {
	for p := range m {
		if strings.Contains(p, " /") {
			return true
		}
	}
	return false
}

func TestDiffNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, dir := openStore(t, &workspace.Options{Ignored: true}), t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		a := drawModel(rt)
		b := a.edited(rt)
		from, to := a.written(t, s, dir), b.written(t, s, dir)
		changes, err := s.Diff(ctx, from, to)
		must(t, err)
		got := a.clone()
		for _, c := range changes { // what goes goes first: paths may be inside one another
			if c.New == (workspace.Entry{}) || c.Kind == workspace.Type {
				got.remove(c.Path)
			}
			if c.Kind == workspace.Renamed {
				got.remove(c.From)
			}
		}
		for _, c := range changes {
			if c.New != (workspace.Entry{}) {
				got.put(c.Path, b[c.Path])
			}
		}
		// Directories that only hold others, or do not any more, are not named.
		if d := diffModels(leaves(b), leaves(got)); d != "" {
			rt.Fatalf("the changes lead elsewhere (-want +got):\n%s\n%+v", d, changes)
		}
	})
}

// leaves are a model's entries that no other is in.
func leaves(m model) model {
	n := m.clone()
	for p := range m {
		if d := up(p); d != "" {
			delete(n, d)
		}
	}
	for p, e := range n {
		if e.Mode.IsDir() {
			delete(n, p)
		}
	}
	return n
}

func TestMergeOfDisjointChangesIsUnion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, dir := openStore(t, &workspace.Options{Ignored: true}), t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		base := drawModel(rt)
		ours, theirs, want := base.clone(), base.clone(), base.clone()
		for range rapid.IntRange(0, 4).Draw(rt, "ours") {
			p, e := "ours/"+drawPath(rt), drawEntry(rt)
			ours.put(p, e)
			want.put(p, e)
		}
		for range rapid.IntRange(0, 4).Draw(rt, "theirs") {
			p, e := "theirs/"+drawPath(rt), drawEntry(rt)
			theirs.put(p, e)
			want.put(p, e)
		}
		b, o, th := base.written(t, s, dir), ours.written(t, s, dir), theirs.written(t, s, dir)
		m, err := s.Merge(ctx, b, o, th, nil)
		must(t, err)
		if len(m.Conflicts) > 0 {
			rt.Fatalf("conflicts: %+v", m.Conflicts)
		}
		if d := diffModels(want, contents(t, s, m.ID)); d != "" {
			rt.Fatalf("merged (-want +got):\n%s", d)
		}
	})
}

func TestMergeCommutes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, dir := openStore(t, &workspace.Options{Ignored: true}), t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		base := drawModel(rt)
		ours, theirs := base.edited(rt), base.edited(rt)
		b, o, th := base.written(t, s, dir), ours.written(t, s, dir), theirs.written(t, s, dir)
		one, err := s.Merge(ctx, b, o, th, nil)
		must(t, err)
		other, err := s.Merge(ctx, b, th, o, nil)
		must(t, err)
		swapped := make([]workspace.Conflict, len(other.Conflicts))
		for i, c := range other.Conflicts {
			c.Ours, c.Theirs = c.Theirs, c.Ours
			swapped[i] = c
		}
		if len(one.Conflicts) == 0 && one.ID != other.ID {
			rt.Fatalf("merged one way and the other (-one +other):\n%s", diffModels(contents(t, s, one.ID), contents(t, s, other.ID)))
		}
		key := func(cs []workspace.Conflict) map[string]workspace.ConflictKind {
			m := make(map[string]workspace.ConflictKind)
			for _, c := range cs {
				m[c.Path] = c.Kind
			}
			return m
		}
		if d := cmp.Diff(key(one.Conflicts), key(swapped)); d != "" {
			rt.Fatalf("conflicts one way and the other (-one +other):\n%s", d)
		}
		nothingLost(rt, base, ours, theirs, contents(t, s, one.ID), one.Conflicts)
	})
}

// nothingLost: what a side wrote is in the merge, or was merged further, or is in conflict.
func nothingLost(t interface{ Fatalf(string, ...any) }, base, ours, theirs, merged model, conflicts []workspace.Conflict) {
	inConflict := make(map[string]bool)
	for _, c := range conflicts {
		inConflict[c.Path] = true
	}
	for i, sides := range [][2]model{{ours, theirs}, {theirs, ours}} {
		side, other := sides[0], sides[1]
		for p, e := range side {
			was, existed := base[p]
			if e.Mode.IsDir() || existed && was == e || inConflict[p] || merged[p] == e {
				continue
			}
			if there, ok := other[p]; ok && (!existed || there != was) {
				continue // both changed it, and it could be merged
			}
			if !moved(base, side, other, merged, p, e) {
				t.Fatalf("side %d has %q, %+v; the merge has %+v and names no conflict there", i, p, e, merged[p])
			}
		}
	}
}

// moved reports whether a side renamed a file and the other changed it, so that what is new
// of it is elsewhere or is not as either has it.
func moved(base, side, other, merged model, p string, e plainEntry) bool {
	for q, was := range base {
		if _, stays := side[q]; !stays && was.Content == e.Content && other[q] != was {
			return true
		}
	}
	if _, stays := other[p]; stays {
		return false
	}
	for q := range merged {
		if _, was := base[q]; !was && merged[q].Mode&fs.ModeType == e.Mode&fs.ModeType {
			return true
		}
	}
	return false
}

// TestMergeAsGit compares with what git merges in a repository of the ordinary kind: what is
// in conflict, and all the rest.
func TestMergeAsGit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, dir := openStore(t, &workspace.Options{Ignored: true}), t.TempDir()
	drawn := rapid.Custom(func(t *rapid.T) [3]model {
		base := gitOnly(drawModel(t))
		return [3]model{base, gitOnly(base.edited(t)), gitOnly(base.edited(t))}
	})
	clean, conflicts := 0, 0
	for seed := range 40 {
		m := drawn.Example(seed)
		r := newRepository(t)
		r.commit(m[0], "base")
		r.git("checkout", "-q", "-b", "theirs")
		r.commit(m[2], "theirs")
		r.git("checkout", "-q", "-b", "ours", "base")
		r.commit(m[1], "ours")
		want, wantConflicts := r.merge("ours", "theirs")
		got, err := s.Merge(ctx, m[0].written(t, s, dir), m[1].written(t, s, dir), m[2].written(t, s, dir), nil)
		must(t, err)
		merged, gotConflicts := filesOnly(contents(t, s, got.ID)), make(map[string]bool)
		for _, c := range got.Conflicts {
			p := c.Path
			if c.At != "" {
				p = c.At
			}
			gotConflicts[p] = true
			delete(want, p)
			delete(merged, p)
		}
		if d := cmp.Diff(wantConflicts, gotConflicts); d != "" {
			t.Errorf("seed %d: conflicts (-git +here):\n%s", seed, d)
		}
		if d := diffModels(want, merged); d != "" {
			t.Errorf("seed %d: merged (-git +here):\n%s", seed, d)
		}
		if len(wantConflicts) > 0 {
			conflicts++
		} else {
			clean++
		}
	}
	if clean < 5 || conflicts < 5 {
		t.Errorf("only %d merges without conflict, and %d with", clean, conflicts)
	}
}

// gitOnly leaves what git can hold.
func gitOnly(m model) model {
	n := model{}
	for p, e := range m {
		switch {
		case e.Mode.IsRegular():
			n.put(p, plainEntry{0o644 | e.Mode&0o100 | e.Mode&0o100>>3 | e.Mode&0o100>>6, e.Content})
		case !e.Mode.IsDir():
			n.put(p, e)
		}
	}
	return n
}

func filesOnly(m model) model {
	n := model{}
	for p, e := range m {
		if !e.Mode.IsDir() {
			n[p] = e
		}
	}
	return n
}

// repository is one of git's own.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	r := &repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "base")
	return r
}

func (r *repository) try(args ...string) error {
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git %v: %w\n%s", args, err, out)
	}
	return nil
}

// merge returns the files of a merge, and which of them are in conflict.
func (r *repository) merge(ours, theirs string) (model, map[string]bool) {
	r.t.Helper()
	cmd := exec.Command("git", "-c", "merge.directoryRenames=false", "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
	cmd.Dir = r.dir
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		r.t.Fatal(err)
	}
	fields := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	conflicts := make(map[string]bool)
	for _, p := range fields[1:] {
		conflicts[p] = true
	}
	r.git("read-tree", "-u", "--reset", fields[0])
	return filesOnly(r.model()), conflicts
}

func (r *repository) git(args ...string) {
	r.t.Helper()
	must(r.t, r.try(args...))
}

func (r *repository) commit(m model, message string) {
	r.t.Helper()
	aside := filepath.Join(r.t.TempDir(), "git")
	must(r.t, os.Rename(filepath.Join(r.dir, ".git"), aside))
	m.write(r.t, r.dir)
	must(r.t, os.Rename(aside, filepath.Join(r.dir, ".git")))
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
}

func (r *repository) model() model {
	m := readModel(r.t, r.dir)
	m.remove(".git")
	return m
}

// A link that becomes a directory with the link in it is what git takes for a rename through
// a link.
func TestPatchOfALinkThatBecomesADirectory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	must(t, os.Symlink("target", filepath.Join(dir, "l")))
	from := snapshot(t, s, dir)
	must(t, os.Remove(filepath.Join(dir, "l")))
	must(t, os.Mkdir(filepath.Join(dir, "l"), 0o755))
	must(t, os.Symlink("target", filepath.Join(dir, "l", "a")))
	to := snapshot(t, s, dir)
	restore(t, s, dir, from)
	var patch bytes.Buffer
	must(t, s.Patch(ctx, &patch, from, to, nil))
	if _, err := s.ApplyPatch(ctx, dir, &patch); err != nil {
		t.Fatal(err)
	}
	if now := snapshot(t, s, dir); now != to {
		t.Errorf("patched to %s, not %s", now, to)
	}
}
