package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/openrath-go/rath/workspace"
)

// lines is a text whose changes at both ends do not touch.
func lines(first, last string) string {
	return first + "\n" + strings.Repeat("between\n", 10) + last + "\n"
}

// meddled opens a store whose git runs a script in a directory before it does what the
// script's case is about: between looking at the directory and changing it.
func meddled(t *testing.T, verb, dir, script string) *workspace.Store {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	git, err := exec.LookPath("git")
	must(t, err)
	bin := t.TempDir()
	text := fmt.Sprintf("#!/bin/sh\ncase \" $* \" in *' %s '*) (cd '%s' && %s);; esac\nexec '%s' \"$@\"\n", verb, dir, script, git)
	must(t, os.WriteFile(filepath.Join(bin, "git"), []byte(text), 0o755))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return openStore(t, nil)
}

// once is a script that does nothing the second time.
func once(t *testing.T, script string) string {
	return fmt.Sprintf("mkdir '%s' 2>/dev/null && { %s; }", filepath.Join(t.TempDir(), "done"), script)
}

func TestApplyMergesWhatChangesMeanwhile(t *testing.T) {
	from := of("f", lines("a", "z"), "gone", "gone\n", "d/x", "x\n", "other", "1\n")
	with := func(change func(m model)) model {
		m := from.clone()
		change(m)
		return m
	}
	to := with(func(m model) {
		m.put("f", file(lines("b", "z")))
		m.put("other", file("2\n"))
		m.put("new", file("new\n"))
		m.remove("gone")
		m.remove("d")
		m.put("d", file("a file now\n"))
	})
	for _, test := range []struct {
		name, script string
		live         model // what the directory is with the script's changes
		want         model // nil: a conflict, and nothing is changed
	}{
		{"made beside", "echo mine >mine",
			with(func(m model) { m.put("mine", file("mine\n")) }),
			func() model { m := to.clone(); m.put("mine", file("mine\n")); return m }()},
		{"edited elsewhere", "sed -i 's/z/y/' f",
			with(func(m model) { m.put("f", file(lines("a", "y"))) }),
			func() model { m := to.clone(); m.put("f", file(lines("b", "y"))); return m }()},
		{"edited in the same place", "sed -i 's/a/c/' f",
			with(func(m model) { m.put("f", file(lines("c", "z"))) }), nil},
		{"edited, of the same size and time", "touch -r f ../time; sed -i 's/a/c/' f; touch -r ../time f; rm ../time",
			with(func(m model) { m.put("f", file(lines("c", "z"))) }), nil},
		{"removed what is to be changed", "rm f", with(func(m model) { m.remove("f") }), nil},
		{"edited what is to be removed", "echo more >>gone",
			with(func(m model) { m.put("gone", file("gone\nmore\n")) }), nil},
		{"removed what is to be removed", "rm gone", with(func(m model) { m.remove("gone") }), to},
		{"made what is to be made", "echo mine >new", with(func(m model) { m.put("new", file("mine\n")) }), nil},
		{"made in a directory that is to be a file", "echo mine >d/mine",
			with(func(m model) { m.put("d/mine", file("mine\n")) }), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			must(t, os.Mkdir(dir, 0o755))
			s := meddled(t, "merge-tree", dir, once(t, test.script))
			target := to.written(t, s, dir)
			base := from.written(t, s, dir)
			mine := test.live.clone() // the merge is only asked for if the directory differs
			for _, m := range []model{mine, test.live} {
				m.put("start", file("of the user's\n"))
			}
			must(t, os.WriteFile(filepath.Join(dir, "start"), []byte("of the user's\n"), 0o644))
			before, err := s.Apply(context.Background(), dir, base, target)
			want := test.want
			if want == nil {
				want = test.live
				if !errors.As(err, new(*workspace.ConflictError)) {
					t.Errorf("got %v, want a conflict", err)
				}
			} else {
				must(t, err)
				want = want.clone()
				want.put("start", file("of the user's\n"))
			}
			if d := diffModels(want, readModel(t, dir)); d != "" {
				t.Errorf("the directory (-want +got):\n%s", d)
			}
			if test.name == "made beside" || test.name == "removed what is to be removed" {
				return // in no place of the merge's: it need not be taken into account
			}
			if d := diffModels(test.live, contents(t, s, before)); d != "" {
				t.Errorf("before (-want +got):\n%s", d)
			}
		})
	}
}

func TestApplyPatchSeesWhatChangesMeanwhile(t *testing.T) {
	dir := t.TempDir()
	s := meddled(t, "apply", dir, once(t, "sed -i 's/z/y/' f"))
	to, from := of("f", lines("b", "z")).written(t, s, dir), of("f", lines("a", "z")).written(t, s, dir)
	var patch bytes.Buffer
	must(t, s.Patch(context.Background(), &patch, from, to, nil))
	before, err := s.ApplyPatch(context.Background(), dir, &patch)
	must(t, err)
	if d := diffModels(of("f", lines("b", "y")), readModel(t, dir)); d != "" {
		t.Errorf("the directory (-want +got):\n%s", d)
	}
	if d := diffModels(of("f", lines("a", "y")), contents(t, s, before)); d != "" {
		t.Errorf("before (-want +got):\n%s", d)
	}
}

func TestApplyGivesUp(t *testing.T) {
	dir := t.TempDir()
	s := meddled(t, "merge-tree", dir, "echo more >>f")
	to, from := of("f", lines("b", "z"), "g", "2\n").written(t, s, dir), of("f", lines("a", "z"), "g", "1\n").written(t, s, dir)
	must(t, os.WriteFile(filepath.Join(dir, "start"), nil, 0o644))
	_, err := s.Apply(context.Background(), dir, from, to)
	var e *workspace.Error
	if !errors.Is(err, workspace.ErrChanging) || !errors.As(err, &e) || e.Hint() == "" || !strings.Contains(err.Error(), `"f"`) {
		t.Errorf("apply to what changes all the time: %v", err)
	}
	got := readModel(t, dir)
	if f := got["f"].Content; !strings.HasPrefix(f, lines("a", "z")+"more\n") {
		t.Errorf("f is %q", f)
	}
	if g := got["g"].Content; g != "1\n" {
		t.Errorf("g is %q although f was seen to change first", g)
	}
}

// TestApplyLeavesWhatIsIgnored has a change add what the directory has, and ignores.
func TestApplyLeavesWhatIsIgnored(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	to, from := of("key", "theirs\n").written(t, s, dir), of("f", "f").written(t, s, dir)
	live := of("f", "f", ".gitignore", "key\n", "key", "mine\n")
	live.write(t, dir)
	if _, err := s.Apply(context.Background(), dir, from, to); !errors.Is(err, workspace.ErrBlocked) {
		t.Errorf("apply over what is ignored: %v", err)
	}
	if got := readModel(t, dir)["key"].Content; got != "mine\n" {
		t.Errorf("key is %q", got)
	}
}

// writer is a user who works in a directory, as fast as can be, while it is changed.
type writer struct {
	dir   string
	made  int
	done  atomic.Bool
	lines []string // that were in the shared file when they had been written
}

func (w *writer) work() error {
	defer w.done.Store(true)
	for ; w.made < 4000; w.made++ {
		if err := os.WriteFile(w.name(w.made), []byte("mine"), 0o644); err != nil {
			return err
		}
		if err := w.append("log", fmt.Sprintln(w.made)); err != nil {
			return err
		}
		if w.made%400 == 0 {
			line := fmt.Sprintf("line %d\n", w.made)
			if err := w.append("shared", line); err != nil {
				return err
			}
			w.lines = append(w.lines, line)
		}
	}
	return nil
}

func (w *writer) name(n int) string { return filepath.Join(w.dir, fmt.Sprintf("%d/mine-%d", n%50, n)) }

// append writes to a file. If that is not at its path any more, it was replaced between
// opening and writing, which nobody can know of but the writer: it writes again.
func (w *writer) append(name, line string) error {
	for {
		f, err := os.OpenFile(filepath.Join(w.dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		if _, err = f.WriteString(line); err != nil {
			return errors.Join(err, f.Close())
		}
		is, err := f.Stat()
		if cerr := f.Close(); err != nil || cerr != nil {
			return errors.Join(err, cerr)
		}
		if at, err := os.Stat(filepath.Join(w.dir, name)); err == nil && os.SameFile(at, is) {
			return nil
		}
	}
}

func TestApplyLosesNothing(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	var trees [2]model
	for i, first := range []string{"a", "b"} {
		trees[i] = of("shared", lines(first, "z"))
		for n := range 500 {
			trees[i].put(fmt.Sprintf("%d/%d", n%50, n), file(fmt.Sprint(n)))
		}
	}
	for n := range 100 {
		trees[0].put(fmt.Sprintf("%d/old-%d", n%50, n), file("old"))
		trees[1].put(fmt.Sprintf("%d/new-%d", n%50, n), file("new"))
	}
	ids := [2]workspace.ID{1: trees[1].written(t, s, dir)}
	ids[0] = trees[0].written(t, s, dir)
	w := &writer{dir: dir}
	var g errgroup.Group
	g.Go(w.work)
	at, applied := 0, 0
	for applied == 0 || !w.done.Load() {
		_, err := s.Apply(ctx, dir, ids[at], ids[1-at])
		if err == nil {
			at, applied = 1-at, applied+1
		} else if !errors.Is(err, workspace.ErrChanging) {
			t.Error(err)
			break
		}
	}
	must(t, g.Wait())
	t.Logf("%d applied, %d files and %d lines written meanwhile", applied, w.made, len(w.lines))
	lost := 0
	for n := range w.made {
		if _, err := os.Stat(w.name(n)); err != nil {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d files were lost", lost, w.made)
	}
	got := readModel(t, dir)
	for _, line := range w.lines {
		if !strings.Contains(got["shared"].Content, line) {
			t.Errorf("%q was lost from what was applied to", line)
		}
	}
	for n := range w.made {
		if line := fmt.Sprintln(n); !strings.Contains("\n"+got["log"].Content, "\n"+line) {
			t.Errorf("%q was lost from what was not", line)
			break
		}
	}
}

// TestRestoreLosesNothing has a restore remove what somebody makes all the time: all of it
// is still there, or in what there was before.
func TestRestoreLosesNothing(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	m := of("a", "a")
	for n := range 50 {
		m.put(fmt.Sprintf("%d/keep", n), file("keep"))
	}
	id := m.written(t, s, dir)
	made := 0
	var stop atomic.Bool
	var g errgroup.Group
	g.Go(func() error {
		for ; made < 4000 && !stop.Load(); made++ {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d/mine-%d", made%50, made)), []byte("mine"), 0o644); err != nil {
				return err
			}
		}
		return nil
	})
	kept := model{}
	for range 10 {
		before, err := s.Restore(ctx, dir, id)
		must(t, err)
		kept = union(kept, contents(t, s, before))
	}
	stop.Store(true)
	must(t, g.Wait())
	kept = union(kept, readModel(t, dir))
	for n := range made {
		if _, ok := kept[fmt.Sprintf("%d/mine-%d", n%50, n)]; !ok {
			t.Errorf("file %d was lost", n)
		}
	}
}
