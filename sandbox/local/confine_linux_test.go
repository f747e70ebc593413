package local_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/workspace"
)

// openIn opens a folder at bubblewrap.
func openIn(t *testing.T, dir string, opts *local.Options) *sandbox.Sandbox {
	t.Helper()
	openAt(t, sandbox.LevelBubblewrap, nil) // or skip
	opts.Policy.Level = sandbox.LevelBubblewrap
	s, err := local.Open(t.Context(), dir, opts)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// shell runs a line and returns what it printed.
func shell(t *testing.T, s *sandbox.Sandbox, line string, env ...string) string {
	t.Helper()
	r, err := s.Exec(t.Context(), sandbox.Command{Shell: line, Env: env})
	must(t, err)
	return r.Stdout + r.Stderr
}

func refusedAt(t *testing.T, dir, level string, opts local.Options) {
	t.Helper()
	opts.Policy.Level = level
	s, err := local.Open(t.Context(), dir, &opts)
	if err == nil {
		s.Close()
	}
	var refusal *sandbox.PolicyError
	if !errors.As(err, &refusal) || refusal.Hint() == "" {
		t.Errorf("%s, %s, %+v: %v", dir, level, opts.Policy, err)
	}
}

// A program that a command may have put there is not the one that confines commands.
func TestPlantedBwrap(t *testing.T) {
	openAt(t, sandbox.LevelBubblewrap, nil) // or skip
	for name, plant := range map[string]func(t *testing.T, work, writable, elsewhere string) string{
		"in the workspace":   func(_ *testing.T, work, _, _ string) string { return work },
		"in a writable path": func(_ *testing.T, _, writable, _ string) string { return writable },
		"by a link": func(t *testing.T, work, _, elsewhere string) string {
			must(t, os.Symlink(filepath.Join(work, "bwrap"), filepath.Join(elsewhere, "bwrap")))
			return elsewhere
		},
		"by a link to the folder": func(t *testing.T, work, _, elsewhere string) string {
			must(t, os.Symlink(work, filepath.Join(elsewhere, "bin")))
			return filepath.Join(elsewhere, "bin")
		},
		"by a relative path": func(t *testing.T, _, _, elsewhere string) string {
			tree(t, elsewhere, map[string]string{"bwrap": "#!/bin/sh\nexec false\n"})
			must(t, os.Chmod(filepath.Join(elsewhere, "bwrap"), 0o755))
			t.Chdir(elsewhere)
			return "."
		},
	} {
		t.Run(name, func(t *testing.T) {
			work, writable, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
			ran := filepath.Join(elsewhere, "ran")
			for _, dir := range []string{work, writable} {
				tree(t, dir, map[string]string{"bwrap": "#!/bin/sh\ntouch " + ran + "\nexec false\n"})
				must(t, os.Chmod(filepath.Join(dir, "bwrap"), 0o755))
			}
			path := os.Getenv("PATH")
			planted := plant(t, work, writable, elsewhere)
			t.Setenv("PATH", planted+":"+path)
			opts := &local.Options{Policy: sandbox.Policy{Writable: []string{writable}}}
			if got := shell(t, openIn(t, work, opts), "echo confined"); got != "confined\n" {
				t.Errorf("the command printed %q", got)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("the planted program ran")
			}
			t.Setenv("PATH", planted)
			refusedAt(t, work, sandbox.LevelBubblewrap, *opts)
		})
	}
}

// A folder that leads to something hidden or read-only stays where it is, in whatever
// folder that commands may write.
func TestPinsInWritablePaths(t *testing.T) {
	outside := t.TempDir()
	tree(t, outside, map[string]string{"a/b/c/d/e/hidden/key": "secret", "a/b/kept/file": "kept", "a/x": "x"})
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(outside, link))
	s := openIn(t, t.TempDir(), &local.Options{
		Hidden: []string{filepath.Join(link, "a/b/c/d/e/hidden")},
		Policy: sandbox.Policy{Writable: []string{link}, ReadOnly: []string{filepath.Join(outside, "a/b/kept")}},
	})
	for _, dir := range []string{outside, link} {
		for _, line := range []string{
			"mv $D/a $D/moved", "mv $D/a/b $D/a/moved", "mv $D/a/b/c $D/moved", "mv $D/a/b/c/d/e $D/moved",
			"rm -rf $D/a", "echo x >$D/a/b/kept/file", "mv $D/a/b/kept $D/kept",
		} {
			shell(t, s, line, "D="+dir)
			if got := shell(t, s, "grep -r secret $D", "D="+dir); strings.Contains(got, "secret") {
				t.Errorf("%s: %s: the next command finds %q", dir, line, got)
			}
		}
	}
	if data, err := os.ReadFile(filepath.Join(outside, "a/b/kept/file")); string(data) != "kept" {
		t.Errorf("what is read-only holds %q, %v", data, err)
	}
	if got := shell(t, s, "echo new >$D/a/new && cat $D/a/new; ls /proc/self/fd", "D="+outside); got != "new\n0\n1\n2\n3\n" {
		t.Errorf("the rest is to be used, and no folder inherited: %q", got)
	}
}

// The folder that all is kept in may be hidden, and the workspace lie in it.
func TestHiddenAroundTheWorkspace(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			openAt(t, level, nil) // or skip
			user := t.TempDir()
			tree(t, user, map[string]string{
				"home/keys": "secret", "home/work/a": "mine", "home/work/.env": "secret", "home/other/b": "secret", "open": "open",
			})
			opts := &local.Options{Hidden: []string{filepath.Join(user, "home")}, Policy: sandbox.Policy{Level: level}}
			if level == sandbox.LevelBubblewrap {
				opts.Policy.Writable = []string{user}
				opts.Policy.ReadOnly = []string{filepath.Join(user, "home/other")} // hidden comes first
				opts.Hidden = append(opts.Hidden, ".env")
			}
			s, err := local.Open(t.Context(), filepath.Join(user, "home/work"), opts)
			must(t, err)
			defer s.Close()
			if got, err := s.ReadFile(t.Context(), "a"); string(got) != "mine" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			if got := shell(t, s, "cat a; echo new >b; cat b"); got != "minenew\n" {
				t.Errorf("in the workspace: %q", got)
			}
			if level == sandbox.LevelHost {
				return
			}
			if got := shell(t, s, "cat $H/keys $H/other/b $H/work/../keys ../keys; grep -r secret $H/.. ; mv $H $H.moved; cat $H.moved/keys", "H="+filepath.Join(user, "home")); strings.Contains(got, "secret\n") || strings.HasPrefix(got, "secret") || strings.Contains(got, ":secret") {
				t.Errorf("it shows %q", got)
			}
			if level == sandbox.LevelLandlock {
				refusedAt(t, filepath.Join(user, "home/work"), level, local.Options{Hidden: opts.Hidden, Policy: sandbox.Policy{Writable: []string{user}}})
				refusedAt(t, filepath.Join(user, "home/work"), level, local.Options{Hidden: opts.Hidden, Policy: sandbox.Policy{ReadOnly: []string{user + "/home/other"}}})
			} else if got := shell(t, s, "cat ../../open"); got != "open" {
				t.Errorf("beside what is hidden: %q", got)
			}
		})
	}
	for _, level := range levels {
		dir := t.TempDir()
		refusedAt(t, dir, level, local.Options{Hidden: []string{dir}})
	}
}

// A fork is kept among what is hidden, and nothing else of that is to be seen.
func TestHiddenAroundForks(t *testing.T) {
	for _, where := range []string{"work", "home/work", "a/b/work"} {
		t.Run(where, func(t *testing.T) {
			user := t.TempDir()
			work := filepath.Join(user, where)
			tree(t, user, map[string]string{"home/keys": "secret", where + "/a": "mine", where + "/.env": "secret"})
			store, err := workspace.Open(t.Context(), filepath.Join(user, "home/store"), nil)
			if err != nil {
				t.Skip(err)
			}
			link := filepath.Join(t.TempDir(), "link")
			must(t, os.Symlink(user, link))
			s := openIn(t, work, &local.Options{
				Workspace: store, Hidden: []string{filepath.Join(user, "home"), filepath.Join(work, ".env")},
				Policy: sandbox.Policy{Writable: []string{link}},
			})
			base, err := s.Snapshot(t.Context())
			must(t, err)
			first, err := s.Fork(base.ID)
			must(t, err)
			defer first.Close()
			second, err := first.Fork(base.ID)
			must(t, err)
			defer second.Close()
			for _, f := range []*sandbox.Sandbox{first, second} {
				if got := shell(t, f, "cat a; pwd"); got != "mine"+work+"\n" {
					t.Errorf("the fork is %q", got)
				}
				if got := shell(t, f, "mv $U/a $U/moved; mv $L/a $L/moved; ls -A $U/home $L/home; grep -r secret $U $L | grep -v ' '", "U="+user, "L="+link); strings.Contains(got, "store") || strings.Contains(got, ":secret") {
					t.Errorf("it shows %q", got)
				}
			}
		})
	}
}

// The system's folders are no place where hidden things are found nonetheless.
func TestHiddenInSystemPaths(t *testing.T) {
	home, err := os.MkdirTemp("/usr/local", "rath-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	tree(t, home, map[string]string{"keys": "secret"})
	opts := local.Options{Hidden: []string{home}}
	refusedAt(t, t.TempDir(), sandbox.LevelLandlock, opts)
	s := openIn(t, t.TempDir(), &opts)
	if got := shell(t, s, "cat $H/keys; ls -A $H", "H="+home); strings.HasPrefix(got, "secret") || strings.HasSuffix(got, "keys\n") {
		t.Errorf("it shows %q", got)
	}
	for _, name := range []string{"/", "/usr", "/etc", "/etc/passwd"} {
		for _, level := range confined {
			refusedAt(t, t.TempDir(), level, local.Options{Hidden: []string{name}})
		}
	}
}

func TestWritableRefused(t *testing.T) {
	openAt(t, sandbox.LevelBubblewrap, nil) // or skip
	link := filepath.Join(t.TempDir(), "link")
	for _, name := range []string{"/", "/proc", "/sys", "/dev", "/proc/sys", "/dev/shm"} {
		_ = os.Remove(link)
		must(t, os.Symlink(name, link))
		for _, path := range []string{name, link} {
			refusedAt(t, t.TempDir(), sandbox.LevelBubblewrap, local.Options{Policy: sandbox.Policy{Writable: []string{path}}})
			refusedAt(t, path, sandbox.LevelBubblewrap, local.Options{})
		}
	}
	refusedAt(t, t.TempDir(), sandbox.LevelBubblewrap, local.Options{Policy: sandbox.Policy{ReadOnly: []string{"/proc"}}})
}

// The innermost path counts, whichever way they are nested.
func TestNestedPaths(t *testing.T) {
	s := openTree(t, &local.Options{Policy: sandbox.Policy{ReadOnly: []string{".", "out/deep/kept"}, Writable: []string{"out"}}},
		map[string]string{"a": "a", "out/b": "b", "out/deep/kept/c": "c"})
	for line, want := range map[string]bool{
		"echo x >a": false, "echo x >new": false, "mv out other": false, "rm -r out": false,
		"echo x >out/new && mkdir out/d && rm out/new": true,
		"echo x >out/deep/kept/c":                      false, "mv out/deep out/moved": false, "rm -r out/deep": false,
	} {
		if r, err := s.Exec(t.Context(), sandbox.Command{Shell: line}); err != nil || (r.ExitCode == 0) != want {
			t.Errorf("%s: %+v, %v", line, r, err)
		}
	}
	for name, want := range map[string]bool{"a": false, "new": false, "out/b": true, "out/deep/kept/c": false} {
		if err := s.WriteFile(t.Context(), name, nil); (err == nil) != want {
			t.Errorf("write %s: %v", name, err)
		}
	}
	for name, want := range map[string]bool{"a": false, "out": false, "out/deep": false, "out/deep/kept/c": false, "out/b": true} {
		if err := s.Remove(t.Context(), name); (err == nil) != want {
			t.Errorf("remove %s: %v", name, err)
		}
	}
}

// preload builds a library that leaves its mark wherever it is loaded.
func preload(t *testing.T) (library, mark string) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no compiler for C here")
	}
	dir := t.TempDir()
	library, mark = filepath.Join(dir, "mark.so"), filepath.Join(dir, "mark")
	source := fmt.Sprintf(`#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void mark(void) {
	char line[4096];
	int in = open("/proc/self/cgroup", O_RDONLY), out = open(%q, O_WRONLY|O_CREAT|O_APPEND, 0600);
	int n = read(in, line, sizeof line);
	if (n > 0) write(out, line, n);
}
`, mark)
	tree(t, dir, map[string]string{"mark.c": source})
	out, err := exec.CommandContext(t.Context(), compiler, "-shared", "-fPIC", "-o", library, filepath.Join(dir, "mark.c")).CombinedOutput()
	if err != nil {
		t.Skipf("%s: %v", out, err)
	}
	return library, mark
}

// A command's variables act on the command, and not on what runs outside for it.
func TestVariablesStayInside(t *testing.T) {
	library, mark := preload(t)
	for _, limits := range []sandbox.Limits{{}, {Processes: 50}} {
		s, err := local.Open(t.Context(), t.TempDir(), &local.Options{Policy: sandbox.Policy{
			Level: sandbox.LevelBubblewrap, Limits: limits, Env: []string{"LD_PRELOAD"},
		}, Getenv: func(name string) (string, bool) {
			if name == "LD_PRELOAD" {
				return library, true
			}
			return os.LookupEnv(name)
		}})
		if errors.Is(err, sandbox.ErrUnsupported) {
			t.Skip(err)
		}
		must(t, err)
		got := shell(t, s, `printf '%s.' "$A" "$B"`, "LD_PRELOAD="+library, "A=a 'b'\nc", "B=$(touch x)`touch x`\\")
		if want := "a 'b'\nc.$(touch x)`touch x`\\."; !strings.HasPrefix(got, want) {
			t.Errorf("the command has %q, want %q", got, want)
		}
		if data, err := os.ReadFile(mark); err == nil {
			t.Errorf("it was loaded outside, in %s", data)
		}
		for _, env := range []string{"A=x\x00--bind\x00/\x00/tmp", "=x\x00y"} {
			if r, err := s.Exec(t.Context(), sandbox.Command{Shell: "ls /tmp", Env: []string{env}}); err == nil {
				t.Errorf("%q: %+v", env, r)
			}
		}
		s.Close()
	}
}

// What is loaded into a command that is counted is counted with it.
func TestVariablesStayBehindTheGate(t *testing.T) {
	library, mark := preload(t)
	s := openAt(t, sandbox.LevelHost, &local.Options{Policy: sandbox.Policy{Limits: sandbox.Limits{Processes: 50}}})
	if got := shell(t, s, `printf '%s.' "$A" "$UID_"; env | grep -c RATH_GATE`, "LD_PRELOAD="+library, "A=it's\n", "UID_=1"); got != "it's\n.1.0\n" {
		t.Errorf("the command has %q", got)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	must(t, err)
	data, err := os.ReadFile(mark)
	if err != nil {
		t.Fatalf("it was not loaded at all: %v", err)
	}
	if os.Getuid() == 0 && strings.Contains(string(data), string(own)) {
		t.Errorf("it was loaded before the command was counted: %s", data)
	}
}
