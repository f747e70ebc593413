//go:build unix

package opensandbox_test

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox/contract"
)

var errPermission, errNotExist = fs.ErrPermission, fs.ErrNotExist

func TestOutput(t *testing.T) {
	sb := open(t, serve(t, nil), opensandbox.Options{})
	for _, test := range []struct{ line, want string }{
		{"", ""}, {"printf a", "a"}, {"echo a", "a\n"}, {"printf 'a\\n\\n\\nb'", "a\n\n\nb"}, {"echo; echo", "\n\n"},
		{"printf '\\n'", "\n"}, {"printf 'a\\r\\nb\\r\\n'", "a\r\nb\r\n"}, {"printf '1%%\\r2%%\\r'", "1%\r2%\r"},
		{"printf 'a\\377b\\0'", "a\xffb\x00"}, {"printf 世界", "世界"}, {"printf '{\"type\":\"error\"}'", `{"type":"error"}`},
		{"head -c 3000000 /dev/zero | tr '\\0' x", strings.Repeat("x", 3000000)},
		{"(sleep 0.3; echo late) & echo now", "now\n"},
		{"exec printf a", "a"}, {"printf a; exit 0", "a"}, {"echo $((", ""},
		{"printf '%s' '" + strings.Repeat("long ", 40_000) + "'", strings.Repeat("long ", 40_000)},
	} {
		line := test.line
		if line == "" {
			line = ":"
		}
		for _, stream := range []string{"", " >&2"} {
			r, err := sb.Exec(t.Context(), sandbox.Command{Shell: "{ " + line + "\n}" + stream, MaxOutput: 4 << 20})
			got := r.Stdout
			if stream != "" {
				got = r.Stderr
			}
			if strings.Contains(line, "$((") {
				if r.ExitCode == 0 || err != nil {
					t.Errorf("%q: %+v, %v", line, r, err)
				}
				continue
			}
			if got != test.want || err != nil {
				t.Errorf("%.100q%s: %.100q, %v, want %.100q", line, stream, got, err, test.want)
			}
		}
	}
}

func TestStdin(t *testing.T) {
	sb := open(t, serve(t, nil), opensandbox.Options{})
	for _, input := range []string{"", "a", "a\n", strings.Repeat("x", 1<<20) + "end"} {
		r, err := sb.Exec(t.Context(), sandbox.Command{Shell: "cat", Stdin: strings.NewReader(input), MaxOutput: 4 << 20})
		if r.Stdout != input || err != nil {
			t.Errorf("%d bytes came back as %d, %v", len(input), len(r.Stdout), err)
		}
	}
	if got := shell(t, sb, "cat; ls -A /tmp | grep -c rath"); got != "2\n" {
		t.Errorf("files are left beside those of the command's own output: %s", got)
	}
}

func TestExitCodes(t *testing.T) {
	sb := open(t, serve(t, nil), opensandbox.Options{})
	for line, want := range map[string]int{"true": 0, "exit 7": 7, "exit 255": 255, "no-such-program-": 127, "kill -9 $$": 137} {
		if r, err := sb.Exec(t.Context(), sandbox.Command{Shell: line}); r.ExitCode != want || err != nil {
			t.Errorf("%s: %+v, %v, want %d", line, r, err, want)
		}
	}
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "true", Dir: "none"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestLimits(t *testing.T) {
	sb := open(t, serve(t, nil), opensandbox.Options{Policy: sandbox.Policy{Limits: sandbox.Limits{
		CPU: time.Second, FileSize: 1024, OpenFiles: 16, Memory: 1 << 30,
	}}})
	if got := shell(t, sb, "ulimit -c; ulimit -t; ulimit -n; ulimit -v; head -c 100000 /dev/zero >big; wc -c <big"); got != "0\n1\n16\n1048576\n1024\n" {
		t.Errorf("the limits are %q", got)
	}
}

func TestNothingSurvivesCancel(t *testing.T) {
	sb := open(t, serve(t, nil), opensandbox.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var once sync.Once
	live := writer(func([]byte) { once.Do(cancel) })
	line := `for i in 1 2 3 4 5; do (setsid sleep 6543.219 &); nohup sleep 6543.219 >/dev/null 2>&1 & done; trap '' TERM; echo begun; wait; sleep 6543.219`
	begin := time.Now()
	if _, err := sb.Exec(ctx, sandbox.Command{Shell: line, Stdout: live}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if d := time.Since(begin); d > 8*time.Second {
		t.Errorf("it took %v", d)
	}
	if out, _ := exec.Command("pgrep", "-xf", "sleep 6543.219").Output(); len(out) > 0 {
		t.Errorf("processes live on: %s", out)
	}
}

// The daemon passes a signal on to everything it runs when a client hangs up on it.
func TestCommandsDoNotDisturbEachOther(t *testing.T) {
	sb := open(t, serve(t, nil), opensandbox.Options{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if r, err := sb.Exec(t.Context(), sandbox.Command{Shell: "sleep 1; echo done"}); r.Stdout != "done\n" || err != nil {
			t.Errorf("%+v, %v", r, err)
		}
	})
	for range 5 {
		shell(t, sb, "true")
	}
	wg.Wait()
}

func TestFiles(t *testing.T) {
	for name, opts := range map[string]contract.Options{"bwrap": {}, "translated": {Translate: true}} {
		t.Run(name, func(t *testing.T) {
			sb := open(t, serve(t, &opts), opensandbox.Options{})
			ctx := t.Context()
			shell(t, sb, `mkfifo pipe; mkdir -p d/e; printf 0123456789 >d/f; ln -s d/f link; ln -s none dangling; ln -s d dir; ln -s loop loop
				ln -s /workspace/d abs; printf x >'sp ace'; printf y >"quo'te"; chmod 750 d/f`)
			if name == "translated" {
				shell(t, sb, "rm abs; ln -s d abs")
			}
			for _, test := range []struct{ name, want string }{
				{"link", "d/f"}, {"dir/e/new", "d/e/new"}, {"dangling", "none"}, {"abs/f", "d/f"}, {"none/x", "none/x"}, {".", "."}, {"d/../sp ace", "sp ace"},
				{"/workspace/link", "d/f"}, {"/workspace", "."},
			} {
				if got, err := sb.Canonical(test.name); got != test.want || err != nil {
					t.Errorf("Canonical(%q) is %q, %v, want %q", test.name, got, err, test.want)
				}
			}
			if _, err := sb.Canonical("loop"); err == nil || !strings.Contains(err.Error(), "too many levels") {
				t.Errorf("a loop: %v", err)
			}
			for name, want := range map[string]error{"pipe": sandbox.ErrNotRegular, "d": sandbox.ErrNotRegular, "a\x00": fs.ErrInvalid, "\xff": fs.ErrInvalid, "dangling": fs.ErrNotExist} {
				if _, err := sb.ReadFile(ctx, name); !errors.Is(err, want) {
					t.Errorf("read %q: %v, want %v", name, err, want)
				}
			}
			for _, test := range []struct {
				offset int64
				max    int
				want   string
			}{{0, -1, "0123456789"}, {0, 4, "0123"}, {3, 4, "3456"}, {8, 5, "89"}, {9, -1, "9"}, {10, 5, ""}, {5, 0, ""}} {
				if got, size, err := sb.ReadRange(ctx, "link", test.offset, test.max); string(got) != test.want || size != 10 || err != nil {
					t.Errorf("%d+%d is %q of %d, %v", test.offset, test.max, got, size, err)
				}
			}
			if e, err := sb.Stat(ctx, "link"); err != nil || e.Path != "d/f" || e.Mode != 0o750 || e.Size != 10 {
				t.Errorf("stat: %+v, %v", e, err)
			}
			for _, name := range []string{"quo'te", "sp ace", "new/dir/f", "dangling"} {
				if err := sb.WriteFile(ctx, name, []byte("w")); err != nil {
					t.Errorf("write %q: %v", name, err)
				}
				if got, err := sb.ReadFile(ctx, name); string(got) != "w" || err != nil {
					t.Errorf("read %q: %q, %v", name, got, err)
				}
			}
			for _, name := range []string{"dangling", "dir", "loop", "pipe", "quo'te", "d"} {
				if err := sb.Remove(ctx, name); err != nil {
					t.Errorf("remove %q: %v", name, err)
				}
			}
			if got := shell(t, sb, "ls -A | tr '\\n' ' '"); got != "abs link new none sp ace " {
				t.Errorf("there is %q", got)
			}
		})
	}
}

func TestBackground(t *testing.T) {
	s := serve(t, nil)
	sb := open(t, s, opensandbox.Options{})
	ctx := t.Context()
	e, err := client(t, s, "").Execd(ctx, sb.ID(), false)
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.Start(ctx, opensandbox.Run{Command: "echo one; sleep 600", Dir: "/workspace"})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Ping(ctx); err != nil {
		t.Error(err)
	}
	var text []byte
	var cursor int64
	until(t, "the first line", func() bool {
		more, next, err := e.Logs(ctx, id, cursor)
		if err != nil {
			t.Fatal(err)
		}
		text, cursor = append(text, more...), next
		return string(text) == "one\n"
	})
	if st, err := e.Status(ctx, id); err != nil || !st.Running || st.ExitCode != nil {
		t.Errorf("%+v, %v", st, err)
	}
	if err := e.Interrupt(ctx, id); err != nil {
		t.Error(err)
	}
	until(t, "the end", func() bool {
		st, err := e.Status(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return !st.Running && st.ExitCode != nil
	})
	shell(t, sb, "echo x >a.txt; mkdir d; echo y >d/b.txt")
	found, err := e.Search(ctx, "/workspace", "*.txt")
	if err != nil || len(found) != 2 || found[0].Path != "/workspace/a.txt" || found[0].Mode != 0o644 {
		t.Errorf("found %+v, %v", found, err)
	}
	if _, err := e.Status(ctx, "nope"); err == nil || !strings.Contains(err.Error(), "command not found") {
		t.Error(err)
	}
	e.Close()
}

func TestKernels(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	s := serve(t, &contract.Options{Kernels: true})
	sb := open(t, s, opensandbox.Options{})
	ctx := t.Context()
	for _, test := range []struct{ source, text, stdout, err string }{
		{"print('hi')\n6 * 7", "42", "hi\n", ""},
		{"x", "", "", "NameError: name 'x' is not defined"},
		{"import os; os.getcwd()", "'/workspace'", "", ""},
	} {
		if test.text == "'/workspace'" && !s.Isolated() {
			continue
		}
		r, err := sb.RunCode(ctx, sandbox.Code{Source: test.source})
		if err != nil || r.Text != test.text || r.Stdout != test.stdout || r.Error != test.err {
			t.Errorf("%q: %+v, %v", test.source, r, err)
		}
	}
	r, err := sb.RunCode(ctx, sandbox.Code{Source: "import time; time.sleep(60)", Timeout: 300 * time.Millisecond})
	if err != nil || !strings.Contains(r.Error, "longer than") {
		t.Errorf("%+v, %v", r, err)
	}
	if n := s.Count("POST /code/context"); n != 4-map[bool]int{false: 1}[s.Isolated()] {
		t.Errorf("%d contexts were made", n)
	}
	e, err := client(t, s, "").Execd(ctx, sb.ID(), true)
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.CreateContext(ctx, "python", "/")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"x = 6", "x * 7"} {
		var text any
		if last, err := e.RunCode(ctx, id, "python", source, func(ev opensandbox.Event) {
			if ev.Type == "result" {
				text = ev.Results["text"]
			}
		}); err != nil || last.Error != nil || (text == "42") != (source == "x * 7") {
			t.Errorf("%s: %+v, %v, %v", source, last, text, err)
		}
	}
	if err := e.DeleteContext(ctx, id); err != nil {
		t.Error(err)
	}
	e.Close()
}

// A daemon without kernels never answers when it is asked for a context, so that it is not.
func TestNoKernels(t *testing.T) {
	s := serve(t, nil)
	sb := open(t, s, opensandbox.Options{})
	r, err := sb.RunCode(t.Context(), sandbox.Code{Source: "6 * 7"})
	if errors.Is(err, sandbox.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || r.Text != "42" || s.Count("POST /code/context") > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
