package local_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
)

func TestBackgroundConfined(t *testing.T) {
	for _, level := range confined {
		t.Run(level, func(t *testing.T) {
			s := openAt(t, level, nil)
			word := map[string]string{sandbox.LevelLandlock: "4321.765", sandbox.LevelBubblewrap: "4321.987"}[level]
			r, err := s.Exec(t.Context(), sandbox.Command{Shell: "setsid sleep " + word + " >/dev/null 2>&1 & env -i sleep " + word + " & (setsid env -i sleep " + word + " &) ; echo ok"})
			if err != nil || r.Stdout != "ok\n" || r.ExitCode != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if len(alive(t, word)) == 0 {
				t.Error("a background process should live until the sandbox closes")
			}
			s.Close()
			for end := time.Now().Add(time.Second); time.Now().Before(end) && len(alive(t, word)) > 0; {
				time.Sleep(time.Millisecond)
			}
			if left := alive(t, word); len(left) > 0 {
				t.Errorf("%d processes live on: %q", len(left), left)
			}
		})
	}
}

func TestCancelConfined(t *testing.T) {
	for _, level := range confined {
		t.Run(level, func(t *testing.T) {
			s := openAt(t, level, nil)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err := s.Exec(ctx, sandbox.Command{Shell: "setsid sleep 5432.109 & sleep 5432.109"})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the error is %v", err)
			}
			until(t, func() bool { return len(alive(t, "5432.109")) == 0 })
		})
	}
}

func TestLimitsConfined(t *testing.T) {
	for _, level := range confined {
		t.Run(level, func(t *testing.T) {
			most := 20
			if os.Getuid() != 0 {
				most = 400 // the user has others
			}
			s := openAt(t, level, &local.Options{Policy: sandbox.Policy{Limits: sandbox.Limits{
				CPU: time.Second, FileSize: 1024, OpenFiles: 16, Memory: 1 << 30, Processes: most,
			}}})
			r, err := s.Exec(t.Context(), sandbox.Command{
				Shell: "ulimit -c; ulimit -t; ulimit -n; ulimit -v; head -c 100000 /dev/zero >big; wc -c <big",
			})
			if err != nil || r.Stdout != "0\n1\n16\n1048576\n1024\n" {
				t.Errorf("%+v, %v", r, err)
			}
			r, err = s.Exec(t.Context(), sandbox.Command{
				Shell: "for i in $(seq " + fmt.Sprint(most+5) + "); do sleep 3456.789 & done; echo begun", Timeout: 10 * time.Second,
			})
			if err != nil || !strings.Contains(r.Stderr, "ork") {
				t.Errorf("more processes than allowed: %+v, %v", r, err)
			}
			r, err = s.Exec(t.Context(), sandbox.Command{Shell: "f() { f | f & }; f; sleep 0.3; echo no more", Timeout: 10 * time.Second})
			if err != nil {
				t.Errorf("a fork bomb: %+v, %v", r, err)
			}
			s.Close()
			until(t, func() bool { return len(alive(t, "3456.789")) == 0 })
		})
	}
}

// tree makes files from names and texts.
func tree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, level := range confined {
		t.Run(level, func(t *testing.T) {
			outside := t.TempDir()
			tree(t, outside, map[string]string{"ro/a": "ro", "rw/a": "rw", "other/a": "other", "file": "file"})
			if err := os.Symlink("ro", filepath.Join(outside, "link")); err != nil {
				t.Fatal(err)
			}
			s := openAt(t, level, &local.Options{Policy: sandbox.Policy{
				ReadOnly: []string{filepath.Join(outside, "link"), filepath.Join(outside, "file")},
				Writable: []string{filepath.Join(outside, "rw")},
			}})
			for line, ok := range map[string]bool{
				"cat $D/ro/a": true, "cat $D/rw/a": true, "cat $D/file": true, "cat $D/link/a": level == sandbox.LevelBubblewrap,
				"cat $D/other/a": false, "echo x >$D/ro/a": false, "echo x >$D/ro/new": false, "rm -f $D/ro/a": false,
				"echo x >$D/file": false, "echo x >$D/rw/new && mv $D/rw/new $D/rw/newer": true, "mv $D/rw/a $D/ro/b": false,
				"echo x >here && mkdir d && mv here d && ln -s d e && cat e/here": true,
				"echo x >/tmp/x && cat /tmp/x":                                    level == sandbox.LevelBubblewrap, "echo x >$TMPDIR/y && cat $TMPDIR/y": true,
				"echo x >~/x && cat ~/x": true, "ls -d /etc/ssh /var/lib": false,
			} {
				r, err := s.Exec(t.Context(), sandbox.Command{Shell: line, Env: []string{"D=" + outside}})
				if (r.ExitCode == 0) != ok || err != nil {
					if level == sandbox.LevelLandlock && (strings.HasPrefix(line, "ls -d") || strings.Contains(line, "/link/")) {
						continue // names are seen, and links followed
					}
					t.Errorf("%s: %+v, %v", line, r, err)
				}
			}
		})
	}
}

func TestReadOnlyInside(t *testing.T) {
	s := openTree(t, &local.Options{Policy: sandbox.Policy{ReadOnly: []string{".git"}}}, map[string]string{".git/hooks/x": "hook", "a": "a"})
	for _, line := range []string{
		"echo x >.git/hooks/x", "echo x >.git/new", "mv .git other", "rm -rf .git; test ! -e .git",
		"rm -rf .git/hooks; test ! -e .git/hooks", "ln -s /tmp .git/link",
	} {
		if r, err := s.Exec(t.Context(), sandbox.Command{Shell: line}); err != nil || r.ExitCode == 0 {
			t.Errorf("%s: %+v, %v", line, r, err)
		}
	}
	for _, err := range []error{
		s.WriteFile(t.Context(), ".git/hooks/x", nil), s.WriteFile(t.Context(), ".git/new", nil),
		s.Remove(t.Context(), ".git"), s.Remove(t.Context(), ".git/hooks/x"),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("the error is %v", err)
		}
	}
	if data, err := s.ReadFile(t.Context(), ".git/hooks/x"); string(data) != "hook" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

func openTree(t *testing.T, opts *local.Options, files map[string]string) *sandbox.Sandbox {
	t.Helper()
	dir := t.TempDir()
	tree(t, dir, files)
	opts.Policy.Level = sandbox.LevelBubblewrap
	s, err := local.Open(t.Context(), dir, opts)
	if errors.Is(err, sandbox.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestHiddenFromCommands(t *testing.T) {
	s := openTree(t, &local.Options{Hidden: []string{".rath/keys", ".rath/store", "top", ".rath/missing"}}, map[string]string{
		".rath/keys": "secret", ".rath/open": "open", ".rath/store/db": "secret", "top": "secret",
	})
	for _, line := range []string{
		"cat .rath/keys .rath/store/* top", "mv .rath moved; cat moved/keys", "mv .rath/keys k; cat k", "ln .rath/keys hard; cat hard",
		"rm -rf .rath top; ln -s / .rath; cat .rath/etc/hostname", "cp -r . /tmp/all; cat /tmp/all/.rath/keys /tmp/all/top",
		"cat moved/* .rath/* k hard", "umount .rath/keys; cat .rath/keys", "grep -r secret .",
	} {
		r, err := s.Exec(t.Context(), sandbox.Command{Shell: line})
		if err != nil || strings.Contains(r.Stdout, "secret\n") || strings.HasSuffix(r.Stdout, "secret") {
			t.Errorf("%s: %+v, %v", line, r, err)
		}
	}
}

func TestScriptsRun(t *testing.T) {
	for _, level := range confined {
		t.Run(level, func(t *testing.T) {
			s := openAt(t, level, nil)
			for _, line := range []string{`printf 'echo ran' >run`, `printf '#!/bin/sh\necho ran\n' >run`} {
				r, err := s.Exec(t.Context(), sandbox.Command{Shell: line + "; chmod 755 run; ./run"})
				if r.Stdout != "ran\n" || err != nil {
					t.Errorf("%s: %+v, %v", line, r, err)
				}
			}
		})
	}
}

// A workspace that goes by two names is the same one under both.
func TestPathsByALink(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"real/.env": "secret", "real/kept/file": "kept", "real/a": "a"})
	link := filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	s, err := local.Open(t.Context(), link, &local.Options{Hidden: []string{".env"}, Policy: sandbox.Policy{
		Level: sandbox.LevelBubblewrap, ReadOnly: []string{"kept", filepath.Join(link, "kept")},
	}})
	if errors.Is(err, sandbox.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{link, filepath.Join(dir, "real")} {
		for line, ok := range map[string]bool{
			"cat $W/a": true, "echo a >$W/a": true, "cat $W/kept/file": true,
			"grep secret $W/.env": false, "echo x >$W/kept/file": false, "mv $W/kept $W/other": false,
		} {
			r, err := s.Exec(t.Context(), sandbox.Command{Shell: line, Env: []string{"W=" + name}})
			if (r.ExitCode == 0) != ok || err != nil {
				t.Errorf("W=%s; %s: %+v, %v", name, line, r, err)
			}
		}
	}
}

func TestNetworks(t *testing.T) {
	at := setStage(t)
	for _, test := range []struct {
		level   string
		network sandbox.Network
		out     []string // of the attempts below, those that get out
	}{
		{sandbox.LevelLandlock, sandbox.NetworkDeny, nil},
		{sandbox.LevelLandlock, sandbox.NetworkAllow, []string{"TCP", "UDP"}},
		{sandbox.LevelBubblewrap, sandbox.NetworkDeny, nil},
		{sandbox.LevelBubblewrap, sandbox.NetworkLoopback, nil},
		{sandbox.LevelBubblewrap, sandbox.NetworkAllow, []string{"TCP", "UDP"}},
	} {
		t.Run(test.level+" "+string(test.network), func(t *testing.T) {
			s := openAt(t, test.level, &local.Options{Policy: sandbox.Policy{Network: test.network}})
			got := attack(t, s, at)
			var out []string
			for _, name := range []string{
				"TCP", "UDP", "abstract socket", "unix socket", "unix datagrams", "datagrams by a pair",
				"raw socket", "packet socket", "vsock", "kernel crypto socket", "family with high bits",
			} {
				if got[name] == notStopped {
					out = append(out, name)
				}
			}
			if diff := cmp.Diff(test.out, out); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			r, err := s.Exec(t.Context(), sandbox.Command{Args: []string{"./attacker"}, Env: []string{helperEnv + "=loopback"}})
			if own := r.Stdout == "true\n"; err != nil || own != (test.network != sandbox.NetworkDeny) {
				t.Errorf("a loopback of its own: %+v, %v", r, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	outside := t.TempDir()
	for _, test := range []struct {
		opts local.Options
		want string
	}{
		{local.Options{Policy: sandbox.Policy{Level: "host", Network: "deny"}}, `level "host" cannot enforce rules for files or networks`},
		{local.Options{Policy: sandbox.Policy{Level: "host", ReadOnly: []string{outside}}}, `level "host" cannot enforce rules for files or networks`},
		{local.Options{Policy: sandbox.Policy{Level: "landlock", Network: "loopback"}}, `level "landlock" cannot enforce a loopback network`},
		{local.Options{Policy: sandbox.Policy{Level: "landlock", ReadOnly: []string{"."}}}, "as read-only"},
		{local.Options{Policy: sandbox.Policy{Level: "landlock"}, Hidden: []string{"keys"}}, "is hidden"},
		{local.Options{Policy: sandbox.Policy{Network: "some"}}, `cannot enforce the network "some"`},
		{local.Options{Policy: sandbox.Policy{Level: "vault"}}, "there is no such level"},
	} {
		s, err := local.Open(t.Context(), t.TempDir(), &test.opts)
		if err == nil {
			s.Close()
		}
		var refusal *sandbox.PolicyError
		if !errors.As(err, &refusal) || !errors.Is(err, sandbox.ErrUnsupported) || refusal.Hint() == "" {
			t.Errorf("%+v: %v", test.opts.Policy, err)
			continue
		}
		if !strings.Contains(err.Error(), test.want) && !strings.Contains(err.Error(), "cannot be enforced") {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	if _, err := local.Open(t.Context(), t.TempDir(), &local.Options{Policy: sandbox.Policy{Writable: []string{"/no/such"}}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path that is not there: %v", err)
	}
}

func TestStrongest(t *testing.T) {
	strongest := ""
	for _, s := range local.Probe(t.Context()) {
		t.Log(s.Level, s.Err)
		if s.Err == nil && strongest == "" {
			strongest = s.Level
		}
	}
	for _, p := range []sandbox.Policy{{Level: sandbox.LevelStrongest}, {Network: sandbox.NetworkDeny}} {
		s, err := local.Open(t.Context(), t.TempDir(), &local.Options{Policy: p})
		if errors.Is(err, sandbox.ErrUnsupported) && strongest == sandbox.LevelHost {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Placement().Level; got != strongest || s.Policy().Level != got {
			t.Errorf("the level is %s, want %s", got, strongest)
		}
		s.Close()
	}
}

func TestScratchGoes(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	left := filepath.Join(os.TempDir(), "rath-sandbox-left")
	tree(t, left, map[string]string{"home/x": ""})
	for _, level := range confined {
		s := openAt(t, level, nil)
		if _, err := s.Exec(t.Context(), sandbox.Command{Shell: "mkdir -p $TMPDIR/a/b; echo >$TMPDIR/a/b/c; chmod 0 $TMPDIR/a/b; ln -s / $TMPDIR/root"}); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	if files, _ := os.ReadDir(os.TempDir()); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

func TestNoGroupSurvivesTheProgramConfined(t *testing.T) {
	for _, level := range confined {
		t.Run(level, func(t *testing.T) {
			openAt(t, level, nil)
			word := "6543." + map[string]string{sandbox.LevelLandlock: "21", sandbox.LevelBubblewrap: "12"}[level]
			line := "sleep " + word + " >/dev/null 2>&1 & (env -i sleep " + word + " &); "
			cmd := helper(t, "run", "LEVEL="+level, "LINE="+line+"echo begun; exec sleep "+word)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			until(t, func() bool { return len(alive(t, word)) == 0 })
		})
	}
}
