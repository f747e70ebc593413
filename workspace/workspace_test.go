package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/openrath-go/rath/workspace"
)

// file is a plain file of a model.
func file(content string) plainEntry { return plainEntry{0o644, content} }

// of makes a model of paths and contents.
func of(pairs ...string) model {
	m := model{}
	for i := 0; i < len(pairs); i += 2 {
		m.put(pairs[i], file(pairs[i+1]))
	}
	return m
}

func TestSnapshotTakesWhatItSays(t *testing.T) {
	dir := t.TempDir()
	of(".gitignore", "*.log\nbuild/\n", "a.go", "a", "x.log", "log", "build/out", "out", "sub/.gitignore", "!keep.log\n", "sub/keep.log", "kept",
		".git/config", "not mine", "nested/.git/HEAD", "ref", "nested/file", "nested", "module/.git", "gitdir: ../x", "module/file", "m",
		".openrath/store/x", "own").write(t, dir)
	for _, test := range []struct {
		name    string
		options *workspace.Options
		want    []string
	}{
		{"default", nil, []string{".gitignore", ".openrath", ".openrath/store", ".openrath/store/x", "a.go", "module", "module/file", "nested", "nested/file", "sub", "sub/.gitignore", "sub/keep.log"}},
		{"exclude", &workspace.Options{Exclude: []string{".openrath/", "nested/file"}}, []string{".gitignore", "a.go", "module", "module/file", "nested", "sub", "sub/.gitignore", "sub/keep.log"}},
		{"ignored", &workspace.Options{Ignored: true, Exclude: []string{".openrath"}}, []string{".gitignore", "a.go", "build", "build/out", "module", "module/file", "nested", "nested/file", "sub", "sub/.gitignore", "sub/keep.log", "x.log"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := openStore(t, test.options)
			got := slices.Sorted(maps.Keys(contents(t, s, snapshot(t, s, dir))))
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("paths (-want +got):\n%s", d)
			}
		})
	}
}

func TestStoreInsideItsDirectory(t *testing.T) {
	dir := t.TempDir()
	of("a", "a").write(t, dir)
	s, err := workspace.Open(context.Background(), filepath.Join(dir, "deep", "store"), nil)
	must(t, err)
	first := snapshot(t, s, dir)
	if d := diffModels(model{"a": file("a"), "deep": {Mode: fs.ModeDir | 0o700}}, contents(t, s, first)); d != "" {
		t.Errorf("the store is in its own snapshot (-want +got):\n%s", d)
	}
	must(t, os.WriteFile(filepath.Join(dir, "b"), nil, 0o644))
	restore(t, s, dir, first)
	if _, err := s.List(context.Background(), first); err != nil {
		t.Errorf("restoring removed the store: %v", err)
	}
}

func TestRestoreLeavesWhatIsNotItsOwn(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	of(".gitignore", "*.log\ncache/\n", "a", "1").write(t, dir)
	first := snapshot(t, s, dir)
	before := of(".git/config", "mine", "a", "2", "x.log", "log", "cache/c", "c", "new/file", "n", "new/y.log", "log", "repo/.git/HEAD", "h", "repo/f", "f")
	before.write(t, dir) // its .gitignore is gone: that of the snapshot counts
	restore(t, s, dir, first)
	want := of(".gitignore", "*.log\ncache/\n", "a", "1", ".git/config", "mine", "x.log", "log", "cache/c", "c", "new/y.log", "log", "repo/.git/HEAD", "h")
	if d := diffModels(want, readModel(t, dir)); d != "" {
		t.Errorf("restored (-want +got):\n%s", d)
	}
	all, err := workspace.Open(context.Background(), t.TempDir(), &workspace.Options{Ignored: true})
	must(t, err)
	empty := snapshot(t, all, t.TempDir())
	restore(t, all, dir, empty)
	if d := diffModels(of(".git/config", "mine", "repo/.git/HEAD", "h"), readModel(t, dir)); d != "" {
		t.Errorf("restored with what is ignored (-want +got):\n%s", d)
	}
}

func TestRestoreReturnsWhatWasThere(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	old := of("a", "1")
	first := old.written(t, s, dir)
	now := of("a", "2", "b", "3")
	now.write(t, dir)
	before, err := s.Restore(context.Background(), dir, first)
	must(t, err)
	if d := diffModels(now, contents(t, s, before)); d != "" {
		t.Errorf("what was there (-want +got):\n%s", d)
	}
}

func TestChangesAreSeenWhateverTheTimes(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	name := filepath.Join(dir, "f")
	seen := make(map[workspace.ID]bool)
	stamp := time.Now().Add(-time.Hour)
	for n := range 200 { // of one size, in one tick of the clock, with one time of modification
		must(t, os.WriteFile(name, []byte(fmt.Sprintf("%03d", n)), 0o644))
		must(t, os.Chtimes(name, stamp, stamp))
		id := snapshot(t, s, dir)
		if seen[id] {
			t.Fatalf("change %d was not seen", n)
		}
		seen[id] = true
	}
}

func TestUnchangedIsNotRead(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	m := model{}
	for i := range 100 {
		m.put("d/"+numbered(i), file(numbered(i)))
	}
	m.write(t, dir)
	time.Sleep(60 * time.Millisecond) // past the resolution of time stamps
	ctx := context.Background()
	first, err := s.Snapshot(ctx, dir)
	must(t, err)
	second, err := s.Snapshot(ctx, dir)
	must(t, err)
	if first.Read != 100 || second.Read != 0 || second.ID != first.ID || second.Entries != 101 {
		t.Errorf("first read %d, second %d of %d", first.Read, second.Read, second.Entries)
	}
}

func TestDiff(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	long := strings.Repeat("a line that makes it similar\n", 20)
	a := of("same", "same", "gone", "gone\n", "changed", "1\n2\n3\n", "old name", long, "mode", "m", "type", "t", "binary", "\x00\x01")
	b := of("same", "same", "changed", "1\n2a\n3\n4\n", "new name", long+"more\n", "mode", "m", "binary", "\x00\x02", "added", "new\n")
	b["mode"] = plainEntry{0o755, "m"}
	b["type"] = plainEntry{fs.ModeSymlink | 0o777, "same"}
	b["empty"] = plainEntry{Mode: fs.ModeDir | 0o700}
	from, to := a.written(t, s, dir), b.written(t, s, dir)
	changes, err := s.Diff(ctx, from, to)
	must(t, err)
	var out bytes.Buffer
	must(t, workspace.Stat(&out, changes))
	const want = `added    added (+1 -0)
modified binary (binary)
modified changed (+2 -1)
added    empty
deleted  gone (+0 -1)
mode     mode
renamed  "old name" -> "new name" (+1 -0)
type     type (+1 -1)
8 changed, 5 insertions(+), 3 deletions(-)
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("stat (-want +got):\n%s", d)
	}
	var patch bytes.Buffer
	must(t, s.Patch(ctx, &patch, from, to, nil))
	for _, line := range []string{"rename from old name", "Binary files a/binary and b/binary differ", "new mode 100755", "-2\n+2a"} {
		if !strings.Contains(patch.String(), line) {
			t.Errorf("the patch has no %q:\n%s", line, &patch)
		}
	}
	a.write(t, dir)
	live, now, err := s.DiffDir(ctx, to, dir)
	must(t, err)
	if len(live) != len(changes) || now != from {
		t.Errorf("the directory differs by %d, the snapshot by %d", len(live), len(changes))
	}
}

func TestMergeConflicts(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	link := plainEntry{fs.ModeSymlink | 0o777, "elsewhere"}
	private, locked := plainEntry{0o600, "f\n"}, plainEntry{0o400, "f\n"}
	for _, test := range []struct {
		name               string
		base, ours, theirs model
		path               string
		kind               workspace.ConflictKind
		want               model // with ours where there is a conflict
	}{
		{"same lines", of("f", "1\n"), of("f", "2\n"), of("f", "3\n"), "f", workspace.Contents, of("f", "2\n")},
		{"both add", of("x", ""), of("x", "", "f", "2\n"), of("x", "", "f", "3\n"), "f", workspace.Contents, of("x", "", "f", "2\n")},
		{"binary", of("f", "\x00a"), of("f", "\x00b"), of("f", "\x00c"), "f", workspace.BinaryContent, of("f", "\x00b")},
		{"changed and deleted", of("f", "1\n", "x", ""), of("f", "2\n", "x", ""), of("x", ""), "f", workspace.ModifyDelete, of("f", "2\n", "x", "")},
		{"deleted and changed", of("f", "1\n", "x", ""), of("x", ""), of("f", "2\n", "x", ""), "f", workspace.ModifyDelete, of("x", "")},
		{"file and directory", of("x", ""), of("x", "", "f", "1\n"), of("x", "", "f/g", "2\n"), "f", workspace.FileDirectory, of("x", "", "f~ours", "1\n", "f/g", "2\n")},
		{"link and file", model{"f": link}, model{"f": {link.Mode, "here"}}, model{"f": {link.Mode, "there"}}, "f", workspace.Contents, model{"f": {link.Mode, "here"}}},
		{"permissions", model{"f": file("f\n")}, model{"f": private}, model{"f": locked}, "f", workspace.Permissions, model{"f": private}},
		{"permissions and deleted", model{"f": file("f\n"), "x": file("")}, model{"f": private, "x": file("")}, of("x", ""), "f", workspace.ModifyDelete, model{"f": private, "x": file("")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, o, th := test.base.written(t, s, dir), test.ours.written(t, s, dir), test.theirs.written(t, s, dir)
			m, err := s.Merge(ctx, b, o, th, nil)
			must(t, err)
			if len(m.Conflicts) != 1 {
				t.Fatalf("conflicts: %+v", m.Conflicts)
			}
			c := m.Conflicts[0]
			if c.Path != test.path || c.Kind != test.kind {
				t.Errorf("conflict (%s) in %q, want (%s) in %q", c.Kind, c.Path, test.kind, test.path)
			}
			if d := diffModels(test.want, contents(t, s, m.ID)); d != "" {
				t.Errorf("merged (-want +got):\n%s", d)
			}
			for side, e := range map[string]workspace.Entry{"ours": c.Ours, "theirs": c.Theirs} {
				want := map[string]model{"ours": test.ours, "theirs": test.theirs}[side][test.path]
				var got strings.Builder
				if e.Blob != "" {
					must(t, s.Read(ctx, e.Blob, &got))
				}
				if want.Mode.IsDir() {
					continue
				}
				if got.String() != want.Content || e.Mode != want.Mode {
					t.Errorf("%s: %q with mode %v, want %q with %v", side, got.String(), e.Mode, want.Content, want.Mode)
				}
			}
		})
	}
}

func TestMergeMarkers(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	b, o, th := of("f", "1\n").written(t, s, dir), of("f", "2\n").written(t, s, dir), of("f", "3\n").written(t, s, dir)
	m, err := s.Merge(ctx, b, o, th, &workspace.MergeOptions{Markers: true})
	must(t, err)
	got := contents(t, s, m.ID)["f"].Content
	if !strings.Contains(got, "<<<<<<<") || !strings.Contains(got, "2\n=======\n3\n") {
		t.Errorf("with markers:\n%s", got)
	}
}

func TestMergeLabels(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	base := of("f", "1\n").written(t, s, dir)
	first, second := of("f", "2\n").written(t, s, dir), of("f", "3\n").written(t, s, dir)
	for _, test := range []struct {
		labels      []string
		merge, many string
	}{
		{nil, "<<<<<<< ours\n2\n=======\n3\n>>>>>>> theirs\n", "<<<<<<< merged so far\n2\n=======\n3\n>>>>>>> branch 1\n"},
		{[]string{"us", "", "them"}, "<<<<<<< us\n2\n=======\n3\n>>>>>>> theirs\n", "<<<<<<< us\n2\n=======\n3\n>>>>>>> them\n"},
		{[]string{"", "an agent"}, "<<<<<<< ours\n2\n=======\n3\n>>>>>>> an agent\n", "<<<<<<< merged so far\n2\n=======\n3\n>>>>>>> branch 1\n"},
	} {
		options := &workspace.MergeOptions{Markers: true, Labels: test.labels}
		m, err := s.Merge(ctx, base, first, second, options)
		must(t, err)
		if d := cmp.Diff(test.merge, contents(t, s, m.ID)["f"].Content); d != "" {
			t.Errorf("%q: merged (-want +got):\n%s", test.labels, d)
		}
		m, err = s.MergeAll(ctx, base, []workspace.ID{first, second}, options)
		must(t, err)
		if d := cmp.Diff(test.many, contents(t, s, m.ID)["f"].Content); d != "" {
			t.Errorf("%q: all merged (-want +got):\n%s", test.labels, d)
		}
	}
	for _, label := range []string{"a\nb", "a\rb", "a\x00b"} {
		options := &workspace.MergeOptions{Labels: []string{"", label}}
		if _, err := s.Merge(ctx, base, first, second, options); err == nil {
			t.Errorf("merge takes the label %q", label)
		}
		if _, err := s.MergeAll(ctx, base, nil, options); err == nil {
			t.Errorf("merge of all takes the label %q", label)
		}
	}
}

func TestApplyRefusesConflicts(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	from, to := of("f", "1\n").written(t, s, dir), of("f", "2\n").written(t, s, dir)
	live := of("f", "3\n", "other", "kept")
	live.write(t, dir)
	_, err := s.Apply(context.Background(), dir, from, to)
	var conflict *workspace.ConflictError
	if !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 {
		t.Fatalf("apply: %v", err)
	}
	if d := diffModels(live, readModel(t, dir)); d != "" {
		t.Errorf("something was changed (-want +got):\n%s", d)
	}
}

// TestManyBranches merges what sixteen parallel branches did to one file.
func TestManyBranches(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	base := of("shared", strings.Repeat("line\n", 200), "kept", "kept").written(t, s, dir)
	const branches = 16
	ids := make([]workspace.ID, branches)
	var g errgroup.Group
	for i := range branches {
		g.Go(func() error {
			f, err := s.Fork(ctx, base, nil)
			if err != nil {
				return err
			}
			defer f.Close()
			lines := strings.SplitAfter(strings.Repeat("line\n", 200), "\n")
			lines[i*12] = fmt.Sprintf("branch %d\n", i)
			err = errors.Join(
				os.WriteFile(filepath.Join(f.Dir, "shared"), []byte(strings.Join(lines, "")), 0o644),
				os.WriteFile(filepath.Join(f.Dir, numbered(i)), []byte(numbered(i)), 0o644))
			if err != nil {
				return err
			}
			snap, err := s.Snapshot(ctx, f.Dir)
			if err == nil {
				ids[i] = snap.ID
			}
			return err
		})
	}
	must(t, g.Wait())
	m, err := s.MergeAll(ctx, base, ids, nil)
	must(t, err)
	if len(m.Conflicts) > 0 {
		t.Fatalf("conflicts: %+v", m.Conflicts)
	}
	got := contents(t, s, m.ID)
	for i := range branches {
		if got[numbered(i)].Content != numbered(i) || !strings.Contains(got["shared"].Content, fmt.Sprintf("branch %d\n", i)) {
			t.Errorf("branch %d is lost", i)
		}
	}
	if len(got) != branches+2 {
		t.Errorf("%d entries, want %d", len(got), branches+2)
	}
}

func TestConcurrentSnapshots(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	m := model{}
	for i := range 80 {
		m.put(fmt.Sprintf("d%d/f%d", i%7, i), file(fmt.Sprint(i)))
	}
	m.write(t, dir)
	var mu sync.Mutex
	ids := make(map[workspace.ID]bool)
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			snap, err := s.Snapshot(context.Background(), dir)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			ids[snap.ID] = true
			return nil
		})
	}
	must(t, g.Wait())
	if len(ids) != 1 {
		t.Errorf("%d snapshots of one thing", len(ids))
	}
}

func TestSnapshotWhileFilesChange(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	var g errgroup.Group
	g.Go(func() error {
		for n := 0; ctx.Err() == nil; n++ {
			name := filepath.Join(dir, numbered(n%20))
			switch n % 4 {
			case 0:
				_ = os.Remove(name)
			case 1:
				_ = os.RemoveAll(name)
				_ = os.MkdirAll(filepath.Join(name, "sub"), 0o755)
			case 2:
				_ = os.RemoveAll(name)
				_ = os.Symlink("/etc", name)
			default:
				_ = os.RemoveAll(name)
				_ = os.WriteFile(name, bytes.Repeat([]byte{byte(n)}, n%5000), 0o644)
			}
		}
		return nil
	})
	for range 50 {
		snap, err := s.Snapshot(context.Background(), dir)
		if err != nil {
			t.Error(err)
			break
		}
		for p, e := range contents(t, s, snap.ID) {
			if strings.Contains(e.Content, "root:") {
				t.Errorf("%q has what is outside", p)
			}
		}
	}
	cancel()
	must(t, g.Wait())
}

func TestKeepAndCollect(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	kept, lost := of("f", "kept"), of("f", "lost")
	a, b := kept.written(t, s, dir), lost.written(t, s, dir)
	c := of("f", "now").written(t, s, dir)
	must(t, s.Keep(ctx, "runs/1/before", a))
	for range 2 {
		_, err := s.GC(ctx, &workspace.GCOptions{Grace: -1})
		must(t, err)
	}
	if d := diffModels(kept, contents(t, s, a)); d != "" {
		t.Errorf("what was kept (-want +got):\n%s", d)
	}
	if _, err := s.List(ctx, b); !errors.Is(err, workspace.ErrUnknown) {
		t.Errorf("what nobody kept is still there: %v", err)
	}
	if again := snapshot(t, s, dir); again != c {
		t.Errorf("the directory is %s now, not %s", again, c)
	}
	if _, err := s.List(ctx, c); err != nil {
		t.Errorf("the last snapshot of a directory: %v", err)
	}
	names, err := s.Kept(ctx, "runs")
	must(t, err)
	if d := cmp.Diff(map[string]workspace.ID{"runs/1/before": a}, names); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	must(t, s.Drop(ctx, "runs/1/before"))
	must(t, s.Drop(ctx, "runs/1/before"))
	_, err = s.GC(ctx, &workspace.GCOptions{Grace: -1})
	must(t, err)
	if _, err := s.List(ctx, a); !errors.Is(err, workspace.ErrUnknown) {
		t.Errorf("what was dropped is still there: %v", err)
	}
}

func TestCollectKeepsTheYoung(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	young := of("f", "young")
	id := young.written(t, s, dir)
	of("f", "other").written(t, s, dir)
	for range 2 {
		_, err := s.GC(ctx, nil)
		must(t, err)
	}
	if d := diffModels(young, contents(t, s, id)); d != "" {
		t.Errorf("after a collection (-want +got):\n%s", d)
	}
}

// TestStoreIsARepository has git itself check what was written.
func TestStoreIsARepository(t *testing.T) {
	gitDir, dir := t.TempDir(), t.TempDir()
	s, err := workspace.Open(context.Background(), gitDir, nil)
	must(t, err)
	m := of("big", strings.Repeat("0123456789", 100_000))
	for i := range 300 { // enough for a pack
		m.put(fmt.Sprintf("d%d/f%d", i%7, i), file(strings.Repeat(fmt.Sprint(i), i)))
	}
	m["d1"], m["empty"] = plainEntry{Mode: fs.ModeDir | 0o700}, plainEntry{Mode: fs.ModeDir | 0o755}
	id := m.written(t, s, dir)
	must(t, s.Keep(context.Background(), "x", id))
	cmd := exec.Command("git", "--git-dir", gitDir, "fsck", "--strict", "--full")
	if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 && !bytes.Contains(out, []byte("notice: HEAD")) {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
	packs, _ := filepath.Glob(filepath.Join(gitDir, "objects", "pack", "*.pack"))
	if len(packs) != 1 {
		t.Errorf("%d packs, want 1", len(packs))
	}
	if d := diffModels(m, contents(t, s, id)); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
}

func TestDamageIsFound(t *testing.T) {
	gitDir, dir := t.TempDir(), t.TempDir()
	s, err := workspace.Open(context.Background(), gitDir, nil)
	must(t, err)
	id := of("f", "content").written(t, s, dir)
	must(t, filepath.WalkDir(filepath.Join(gitDir, "objects"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			must(t, os.Chmod(name, 0o600))
			must(t, os.WriteFile(name, []byte("rubbish"), 0o600))
		}
		return err
	}))
	if _, err := s.List(context.Background(), id); !errors.Is(err, workspace.ErrCorrupt) {
		t.Errorf("reading what is damaged: %v", err)
	}
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	id := of("f", "f").written(t, s, dir)
	other := workspace.ID(strings.Repeat("0a", 32))
	call := func(_ any, err error) error { return err }
	for _, test := range []struct {
		name string
		err  error
		want error
	}{
		{"snapshot nothing", call(s.Snapshot(ctx, filepath.Join(dir, "no"))), fs.ErrNotExist},
		{"restore unknown", call(s.Restore(ctx, dir, other)), workspace.ErrUnknown},
		{"diff unknown", call(s.Diff(ctx, id, other)), workspace.ErrUnknown},
		{"merge unknown", call(s.Merge(ctx, other, id, id, nil)), workspace.ErrUnknown},
		{"fork unknown", call(s.Fork(ctx, other, nil)), workspace.ErrUnknown},
		{"keep unknown", s.Keep(ctx, "x", other), workspace.ErrUnknown},
		{"fork into something", call(s.Fork(ctx, id, &workspace.ForkOptions{Dir: dir})), workspace.ErrNotEmpty},
		{"fork in no way", call(s.Fork(ctx, id, &workspace.ForkOptions{Methods: []workspace.Method{}})), workspace.ErrNoFork},
	} {
		t.Run(test.name, func(t *testing.T) {
			var e *workspace.Error
			if !errors.Is(test.err, test.want) || !errors.As(test.err, &e) {
				t.Errorf("got %v, want %v in a *workspace.Error", test.err, test.want)
			}
			if errors.As(test.err, &e) && e.Hint() == "" && test.want != fs.ErrNotExist {
				t.Errorf("%v has no hint", test.err)
			}
		})
	}
	if err := s.Keep(ctx, "../../HEAD", id); err == nil {
		t.Error("a name leads out of the names")
	}
	if _, err := workspace.ParseID("HEAD"); err == nil {
		t.Error("HEAD passes for a snapshot")
	}
	t.Run("no git", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := workspace.Open(ctx, t.TempDir(), nil)
		var e *workspace.Error
		if !errors.Is(err, workspace.ErrNoGit) || !errors.As(err, &e) || e.Hint() == "" {
			t.Errorf("without git: %v", err)
		}
	})
}

func TestCancelled(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	a, b := of("f", "1").written(t, s, dir), of("f", "2", "g", "3").written(t, s, dir)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	call := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"snapshot": call(s.Snapshot(ctx, dir)),
		"restore":  call(s.Restore(ctx, dir, a)),
		"diff":     call(s.Diff(ctx, a, b)),
		"patch":    s.Patch(ctx, new(bytes.Buffer), a, b, nil),
		"merge":    call(s.Merge(ctx, a, b, a, nil)),
		"fork":     call(s.Fork(ctx, a, nil)),
		"apply":    call(s.Apply(ctx, dir, b, a)),
	} {
		if !errors.Is(err, why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := diffModels(of("f", "2", "g", "3"), readModel(t, dir)); d != "" {
		t.Errorf("something was changed (-want +got):\n%s", d)
	}
}

// cancelAfter ends a context after it was asked a number of times.
type cancelAfter struct {
	context.Context
	mu   sync.Mutex
	left int
}

func (c *cancelAfter) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelledInTheMiddle stops a restore at each point where it looks, and finishes it.
func TestCancelledInTheMiddle(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	a, b := of("x/1", "1", "x/2", "2", "y", "y"), of("x", "x", "y/1", "1", "z", "z")
	first, second := a.written(t, s, dir), b.written(t, s, dir)
	for left := 0; ; left++ {
		b.write(t, dir)
		_, err := s.Restore(&cancelAfter{Context: context.Background(), left: left}, dir, first)
		done := err == nil
		restore(t, s, dir, first)
		if d := diffModels(a, readModel(t, dir)); d != "" {
			t.Fatalf("restored after %d steps of another (-want +got):\n%s", left, d)
		}
		restore(t, s, dir, second)
		if d := diffModels(b, readModel(t, dir)); d != "" {
			t.Fatalf("restored back (-want +got):\n%s", d)
		}
		if done {
			return
		}
	}
}
