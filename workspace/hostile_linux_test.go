package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/openrath-go/rath/workspace"
)

// TestNothingRuns fills a directory with all that has git run something or change content.
func TestNothingRuns(t *testing.T) {
	ctx := context.Background()
	mark := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "evil")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\necho \"$0 $*\" >>"+mark+"\ncat\n"), 0o755))
	conf := fmt.Sprintf(`[core]
	hooksPath = hooks
	fsmonitor = %[1]s
	autocrlf = true
	pager = %[1]s
	editor = %[1]s
	sshCommand = %[1]s
[diff]
	external = %[1]s
[diff "evil"]
	command = %[1]s
	textconv = %[1]s
[filter "evil"]
	clean = %[1]s
	smudge = %[1]s
	process = %[1]s
	required = true
[merge "evil"]
	driver = %[1]s %%A
`, script)
	home := t.TempDir()
	must(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(conf), 0o644))
	for key, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"),
		"GIT_EXTERNAL_DIFF": script, "GIT_PAGER": script, "GIT_INDEX_FILE": filepath.Join(home, "index"),
		"GIT_OBJECT_DIRECTORY": home, "GIT_WORK_TREE": home, "GIT_TRACE": mark,
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "diff.external", "GIT_CONFIG_VALUE_0": script,
	} {
		t.Setenv(key, value)
	}
	gitDir, dir := t.TempDir(), t.TempDir()
	_, err := workspace.Open(ctx, gitDir, nil)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(gitDir, "config"), []byte(conf), 0o644))
	must(t, os.MkdirAll(filepath.Join(gitDir, "hooks"), 0o755))
	for _, hook := range []string{"reference-transaction", "post-index-change", "pre-auto-gc"} {
		must(t, os.Symlink(script, filepath.Join(gitDir, "hooks", hook)))
	}
	s, err := workspace.Open(ctx, gitDir, nil) // puts the configuration right
	must(t, err)

	attributes := "* filter=evil diff=evil merge=evil text=auto eol=crlf ident working-tree-encoding=UTF-16 export-subst\n"
	base := of(".gitattributes", attributes, "f", "1\r\n2\n$Id$\n", "sub/.gitattributes", attributes, ".git/config", conf, ".git/info/attributes", attributes)
	base.put(".git/hooks/post-checkout", plainEntry{0o755, "#!/bin/sh\n" + script})
	visible := base.clone()
	visible.remove(".git")
	id := base.written(t, s, dir)
	if d := diffModels(visible, contents(t, s, id)); d != "" {
		t.Errorf("contents were changed (-want +got):\n%s", d)
	}
	ours, theirs := visible.clone(), visible.clone()
	ours["f"], theirs["f"] = file("1\r\nours\n$Id$\n"), file("1\r\ntheirs\n$Id$\n")
	o, th := ours.written(t, s, dir), theirs.written(t, s, dir)
	if _, err := s.Diff(ctx, o, th); err != nil {
		t.Error(err)
	}
	var patch bytes.Buffer
	must(t, s.Patch(ctx, &patch, id, o, nil))
	m, err := s.Merge(ctx, id, o, th, nil)
	must(t, err)
	if len(m.Conflicts) != 1 {
		t.Errorf("a merge driver hid the conflict: %+v", m)
	}
	restore(t, s, dir, id)
	_, err = s.ApplyPatch(ctx, dir, &patch)
	must(t, err)
	if d := diffModels(ours, readModel(t, dir)); d != "" {
		t.Errorf("contents were changed (-want +got):\n%s", d)
	}
	must(t, s.Keep(ctx, "x", id))
	_, err = s.GC(ctx, nil)
	must(t, err)
	if ran, err := os.ReadFile(mark); err == nil {
		t.Errorf("something ran:\n%s", ran)
	}
}

func TestPatchesStayInside(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	outside := t.TempDir()
	m := model{"out": {fs.ModeSymlink | 0o777, outside}, "f": file("f\n")}
	m.write(t, dir)
	const add = "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+evil\n"
	for _, name := range []string{"../evil", ".git/hooks/x", "out/evil", ".GIT/config", "/etc/evil"} {
		if _, err := s.ApplyPatch(context.Background(), dir, strings.NewReader(fmt.Sprintf(add, name))); err == nil && name != "/etc/evil" {
			t.Errorf("a patch made %s", name)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("a patch led outside: %v", entries)
	}
	if _, err := os.Stat("/etc/evil"); err == nil {
		t.Error("a patch made /etc/evil")
	}
}

func TestSpecialFilesAreReported(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	of("f", "f").write(t, dir)
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	must(t, err)
	defer l.Close()
	snap, err := s.Snapshot(context.Background(), dir)
	must(t, err)
	got := map[string]fs.FileMode{}
	for _, what := range snap.Skipped {
		got[what.Path] = what.Mode.Type()
	}
	if d := cmp.Diff(map[string]fs.FileMode{"pipe": fs.ModeNamedPipe, "socket": fs.ModeSocket}, got); d != "" {
		t.Errorf("skipped (-want +got):\n%s", d)
	}
	empty := snapshot(t, s, t.TempDir())
	restore(t, s, dir, empty)
	if _, err := os.Lstat(filepath.Join(dir, "pipe")); err != nil {
		t.Errorf("a pipe was removed: %v", err)
	}
	other := t.TempDir()
	taken := of("pipe", "a file").written(t, s, other)
	if _, err := s.Restore(context.Background(), dir, taken); !errors.Is(err, workspace.ErrBlocked) {
		t.Errorf("a file in the place of a pipe: %v", err)
	}
}

// TestLinksLeadNowhere swaps directories for links while files are written and read.
func TestLinksLeadNowhere(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "f1"), []byte("secret"), 0o600))
	a, b := of(".git/f1", "untouched"), model{}
	for i := range 30 {
		a.put(fmt.Sprintf("d/f%d", i), file("a"))
		b.put(fmt.Sprintf("d/f%d", i), file("b"))
	}
	first, second := a.written(t, s, dir), b.written(t, s, t.TempDir())
	a.write(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	var g errgroup.Group
	g.Go(func() error {
		d, aside := filepath.Join(dir, "d"), filepath.Join(t.TempDir(), "aside")
		for n := 0; ctx.Err() == nil; n++ {
			_ = os.Rename(d, aside)
			_ = os.Symlink([]string{outside, ".git"}[n%2], d)
			_ = os.Remove(d)
			_ = os.Rename(aside, d)
		}
		return nil
	})
	for n := range 25 {
		_, _ = s.Restore(context.Background(), dir, []workspace.ID{first, second}[n%2]) // it may well fail
		snap, err := s.Snapshot(context.Background(), dir)
		if err != nil {
			continue
		}
		for p, e := range contents(t, s, snap.ID) {
			if e.Content == "secret" || e.Content == "untouched" {
				t.Fatalf("%q has what a link leads to", p)
			}
		}
	}
	cancel()
	must(t, g.Wait())
	if d := diffModels(of("f1", "secret"), withoutModes(readModel(t, outside))); d != "" {
		t.Errorf("outside (-want +got):\n%s", d)
	}
	if d := diffModels(of("f1", "untouched"), readModel(t, filepath.Join(dir, ".git"))); d != "" {
		t.Errorf("the user's repository (-want +got):\n%s", d)
	}
}

func withoutModes(m model) model {
	for p, e := range m {
		if e.Mode.IsRegular() {
			m[p] = file(e.Content)
		}
	}
	return m
}

func TestTwoProcesses(t *testing.T) {
	gitDir, dir := t.TempDir(), t.TempDir()
	m := model{}
	for i := range 200 {
		m.put(fmt.Sprintf("d%d/f%d", i%7, i), file(fmt.Sprint(i)))
	}
	m.write(t, dir)
	s, err := workspace.Open(context.Background(), gitDir, nil)
	must(t, err)
	var g errgroup.Group
	answers := make([]string, 3)
	for i := range answers {
		cmd := process(t, "snapshot", gitDir, dir)
		g.Go(func() error {
			out, err := cmd.Output()
			answers[i] = strings.TrimSpace(string(out))
			return err
		})
	}
	id := snapshot(t, s, dir)
	_, err = s.GC(context.Background(), &workspace.GCOptions{Grace: -1})
	must(t, err)
	must(t, g.Wait())
	for _, a := range answers {
		if a != string(id) {
			t.Errorf("another process has %q, this one %s", a, id)
		}
	}
	if d := diffModels(m, contents(t, s, id)); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
}

// TestKilled kills a process that makes snapshots and forks, and goes on with its store.
func TestKilled(t *testing.T) {
	ctx := context.Background()
	for round := range 5 {
		gitDir, dir := t.TempDir(), t.TempDir()
		cmd := process(t, "churn", gitDir, dir)
		started(t, cmd)
		time.Sleep(time.Duration(round*23) * time.Millisecond)
		kill(t, cmd)
		s, err := workspace.Open(ctx, gitDir, nil)
		must(t, err)
		kept, err := s.Kept(ctx, "")
		must(t, err)
		if m := contents(t, s, kept["last"]); len(m) != 100 {
			t.Errorf("what was kept has %d files", len(m))
		}
		now := readModel(t, dir)
		if d := diffModels(now, contents(t, s, snapshot(t, s, dir))); d != "" {
			t.Errorf("the next snapshot (-want +got):\n%s", d)
		}
		_, err = s.GC(ctx, &workspace.GCOptions{Grace: -1})
		must(t, err)
		for _, left := range []string{"rath/forks/*", "rath/tmp/*", "objects/tmp_*", "objects/pack/tmp_*"} {
			if names, _ := filepath.Glob(filepath.Join(gitDir, left)); len(names) > 0 {
				t.Errorf("left behind: %v", names)
			}
		}
		out, err := exec.Command("git", "--git-dir", gitDir, "fsck", "--full").CombinedOutput()
		if err != nil {
			t.Errorf("git fsck: %v\n%s", err, out)
		}
	}
}

func TestKilledRestoring(t *testing.T) {
	gitDir, dir := t.TempDir(), t.TempDir()
	s, err := workspace.Open(context.Background(), gitDir, nil)
	must(t, err)
	a, b := model{}, model{}
	for i := range 100 {
		a.put(fmt.Sprintf("a/%d", i), file(strings.Repeat("a", 9000)))
		b.put(fmt.Sprintf("b/%d", i), file(strings.Repeat("b", 9000)))
		b.put(fmt.Sprintf("a/%d", i), file(strings.Repeat("c", 9000)))
	}
	first, second := a.written(t, s, dir), b.written(t, s, dir)
	for round := range 8 {
		cmd := process(t, "restore", gitDir, dir, string(first), string(second))
		started(t, cmd)
		time.Sleep(time.Duration(round*11) * time.Millisecond)
		kill(t, cmd)
		for p, e := range readModel(t, dir) {
			if e.Mode.IsRegular() && !strings.Contains(p, ".rath-tmp-") && len(e.Content) != 9000 {
				t.Errorf("%q is half written", p)
			}
		}
		restore(t, s, dir, first)
		if d := diffModels(a, readModel(t, dir)); d != "" {
			t.Fatalf("restored after all (-want +got):\n%s", d)
		}
	}
}

func TestOrphansAreFound(t *testing.T) {
	ctx := context.Background()
	gitDir, dir := t.TempDir(), t.TempDir()
	s, err := workspace.Open(ctx, gitDir, nil)
	must(t, err)
	id := of("f", "f").written(t, s, dir)
	cmd := process(t, "fork", gitDir, string(id))
	said := started(t, cmd)
	fork := said[:strings.LastIndexByte(said, ' ')]
	c, err := s.GC(ctx, nil)
	must(t, err)
	if _, err := os.Stat(filepath.Join(fork, "f")); err != nil || len(c.Orphans) > 0 {
		t.Fatalf("a fork that lives was taken for an orphan: %v, %+v", err, c.Orphans)
	}
	kill(t, cmd)
	c, err = s.GC(ctx, nil)
	must(t, err)
	if len(c.Orphans) != 1 || c.Orphans[0].Dir != fork || c.Orphans[0].Err != nil {
		t.Fatalf("orphans: %+v, want %s", c.Orphans, fork)
	}
	if _, err := os.Lstat(fork); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the fork is still there: %v", err)
	}
	kept, err := s.Kept(ctx, "orphans")
	must(t, err)
	if d := diffModels(of("f", "f", "unsaved", "work"), contents(t, s, kept[c.Orphans[0].Kept])); d != "" {
		t.Errorf("what was in it (-want +got):\n%s", d)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	if bytes.Contains(mounts, []byte(gitDir)) {
		t.Error("something is still mounted")
	}
}

// TestOverlayInUserNamespace forks as an ordinary user in a namespace of their own.
func TestOverlayInUserNamespace(t *testing.T) {
	gitDir, dir := t.TempDir(), t.TempDir()
	s, err := workspace.Open(context.Background(), gitDir, nil)
	must(t, err)
	id := of("a", "a", "b", "b", "c", "c", "dir/x", "x", "e", "e", "g", "g", "h", "h").written(t, s, dir)
	cmd := process(t, "methods", gitDir, string(id))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.Output()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC) {
		t.Skip("no user namespaces here")
	}
	if err != nil || strings.TrimSpace(string(out)) != "overlay" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestOrdinaryUser runs what root never meets: files and directories that may not be read
// or written.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() == 0 {
		asNobody(t)
		return
	}
	ctx := context.Background()
	dir := t.TempDir()
	of("open", "open", "closed", "closed", "shut/f", "f").write(t, dir)
	must(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	must(t, os.Chmod(filepath.Join(dir, "shut"), 0))
	defer os.Chmod(filepath.Join(dir, "shut"), 0o700)
	s := openStore(t, nil)
	_, err := s.Snapshot(ctx, dir)
	var e *workspace.Error
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &e) || e.Hint() == "" || !strings.Contains(err.Error(), `"closed"`) && !strings.Contains(err.Error(), `"shut"`) {
		t.Errorf("what may not be read: %v", err)
	}
	lenient := openStore(t, &workspace.Options{Unreadable: true})
	snap, err := lenient.Snapshot(ctx, dir)
	must(t, err)
	if len(snap.Skipped) != 2 || snap.Entries != 1 {
		t.Errorf("skipped %+v, has %d entries", snap.Skipped, snap.Entries)
	}

	locked := model{"d": {Mode: fs.ModeDir | 0o500}, "d/f": {0o400, "1"}, "d/e": {Mode: fs.ModeDir | 0o500}}
	work := t.TempDir()
	first := locked.written(t, s, work)
	restore(t, s, work, snapshot(t, s, t.TempDir()))
	if d := diffModels(model{}, readModel(t, work)); d != "" {
		t.Errorf("emptied (-want +got):\n%s", d)
	}
	restore(t, s, work, first)
	if d := diffModels(locked, readModel(t, work)); d != "" {
		t.Errorf("restored (-want +got):\n%s", d)
	}
	f, err := s.Fork(ctx, first, nil)
	must(t, err)
	if f.Method == workspace.Overlay {
		t.Error("an ordinary user mounted an overlay")
	}
	if d := diffModels(locked, readModel(t, f.Dir)); d != "" {
		t.Errorf("forked (-want +got):\n%s", d)
	}
	must(t, f.Close())
	must(t, os.Chmod(filepath.Join(work, "d"), 0o700))
}

// asNobody runs the calling test again as an ordinary user.
func asNobody(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	const nobody = 65534
	base, err := os.MkdirTemp("", "nobody-*")
	must(t, err)
	defer os.RemoveAll(base)
	must(t, os.Chown(base, nobody, nobody))
	binary := filepath.Join(base, "test")
	data, err := os.ReadFile(self)
	must(t, err)
	must(t, os.WriteFile(binary, data, 0o755))
	cmd := exec.Command(binary, "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir = base
	cmd.Env = append(os.Environ(), "TMPDIR="+base)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}
