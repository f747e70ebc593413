//go:build unix

package local_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/sandbox/sandboxtest"
	"github.com/openrath-go/rath/workspace"
)

func open(t testing.TB, opts *local.Options) *sandbox.Sandbox {
	t.Helper()
	s, err := local.Open(t.Context(), t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// openAt opens a sandbox at a level, or skips the test where there is none such.
func openAt(t testing.TB, level string, opts *local.Options) *sandbox.Sandbox {
	t.Helper()
	for _, s := range local.Probe(t.Context()) {
		if s.Level == level && s.Err != nil {
			t.Skip(s.Err)
		}
	}
	if opts == nil {
		opts = &local.Options{}
	}
	opts.Policy.Level = level
	return open(t, opts)
}

func TestConformance(t *testing.T) {
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	dir := strings.TrimSpace(string(cache)) // for the program in Go, which would take long without
	if _, no := os.Stat(dir); err != nil || no != nil || dir == "" {
		dir = ""
	}
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			openAt(t, level, nil) // or skip
			if dir != "" {
				t.Setenv("GOCACHE", dir)
			}
			sandboxtest.Suite{Open: func(t *testing.T, p sandbox.Policy) (*sandbox.Sandbox, error) {
				opts := &local.Options{Policy: p}
				opts.Policy.Level = cmp.Or(p.Level, level)
				if dir != "" {
					opts.Policy.Env = append(slices.Clip(p.Env), "GOCACHE")
					if level != sandbox.LevelHost {
						opts.Policy.Writable = append(slices.Clip(p.Writable), dir)
					}
				}
				if opts.Workspace, err = workspace.Open(t.Context(), filepath.Join(t.TempDir(), "shadow"), nil); err != nil {
					t.Log(err)
					opts.Workspace = nil // and no snapshots
				}
				return local.Open(t.Context(), t.TempDir(), opts)
			}}.Run(t)
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]*local.Options{
		"a missing folder": nil,
		"a file":           nil,
		"an unknown level": {Policy: sandbox.Policy{Level: "vault"}},
	} {
		dir := t.TempDir()
		switch name {
		case "a missing folder":
			dir = filepath.Join(dir, "missing")
		case "a file":
			dir = file
		}
		s, err := local.Open(t.Context(), dir, opts)
		if err == nil {
			s.Close()
			t.Errorf("%s was opened", name)
		}
		var e *sandbox.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v is no *sandbox.Error", name, err)
		}
	}
}

func TestOpenSaysWhy(t *testing.T) {
	dir := t.TempDir()
	missing, file := filepath.Join(dir, "missing"), filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		missing    bool
		text, hint string
	}{
		missing: {true, "no such file or directory", "make the folder " + missing + " first, or name one that exists"},
		file:    {false, "not a directory", "name a folder: " + file + " cannot be a workspace"},
	} {
		_, err := local.Open(t.Context(), name, nil)
		var e *sandbox.Error
		if !errors.As(err, &e) || errors.Is(err, fs.ErrNotExist) != want.missing {
			t.Fatalf("%s: %#v", name, err)
		}
		got := []string{e.Op, e.Name, e.Error(), e.Hint()}
		text := "open sandbox local:" + name + ": " + want.text
		if diff := gocmp.Diff([]string{"open sandbox", "local:" + name, text, want.hint}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestAbsolutePathsInside(t *testing.T) {
	real := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	s, err := local.Open(t.Context(), link, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, dir := range []string{real, link} {
		if err := s.WriteFile(t.Context(), filepath.Join(dir, "f"), []byte(dir)); err != nil {
			t.Error(err)
		}
		if name, err := s.Canonical(filepath.Join(dir, "f")); name != "f" || err != nil {
			t.Errorf("canonical name is %q, %v", name, err)
		}
	}
	if err := os.Symlink(filepath.Join(real, "f"), filepath.Join(real, "absolute")); err != nil {
		t.Fatal(err)
	}
	if data, err := s.ReadFile(t.Context(), "absolute"); string(data) != link {
		t.Errorf("through an absolute link inside: %q, %v", data, err)
	}
}

func TestSpecialFilesDoNotHang(t *testing.T) {
	s := open(t, nil)
	dir := s.Placement().Spec.WorkingDir
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := s.ReadFile(t.Context(), "fifo"); !errors.Is(err, sandbox.ErrNotRegular) {
		t.Errorf("read a FIFO: %v", err)
	}
	if err := s.WriteFile(t.Context(), "fifo", nil); !errors.Is(err, sandbox.ErrNotRegular) {
		t.Errorf("write a FIFO: %v", err)
	}
	if _, err := s.ReadFile(t.Context(), "."); !errors.Is(err, sandbox.ErrNotRegular) {
		t.Errorf("read a folder: %v", err)
	}
}

func TestWriteKeepsMode(t *testing.T) {
	s := open(t, nil)
	name := filepath.Join(s.Placement().Spec.WorkingDir, "run.sh")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteFile(t.Context(), "run.sh", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Stat(t.Context(), "run.sh"); e.Mode.Perm() != 0o755 {
		t.Errorf("mode is %v, %v", e.Mode, err)
	}
	if entries, _ := s.List(t.Context(), "."); len(entries) != 1 {
		t.Errorf("something was left behind: %v", entries)
	}
}

// A folder is swapped for a link to the outside, over and over, while files are read and
// written through it: none of it may land outside.
func TestSwappedBetweenCheckAndUse(t *testing.T) {
	s := open(t, nil)
	dir := s.Placement().Spec.WorkingDir
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteFile(t.Context(), "real/f", []byte("inside")); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		name := filepath.Join(dir, "swap")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			target := []string{"real", outside}[i%2]
			os.Symlink(target, name+".new")
			os.Rename(name+".new", name)
		}
	})
	for range 2000 {
		if data, err := s.ReadFile(t.Context(), "swap/f"); err == nil && string(data) == "outside" {
			t.Fatal("read outside the workspace")
		}
		_ = s.WriteFile(t.Context(), "swap/g", []byte("x"))
	}
	close(stop)
	wg.Wait()
	if entries, err := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("written outside the workspace: %v, %v", entries, err)
	}
}

// runs reports whether a process is alive, and not merely unburied.
func runs(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		return !strings.Contains(string(stat), ") Z ")
	}
	return syscall.Kill(pid, 0) == nil
}

// until waits for the system to do something.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come about in 20 seconds")
		}
	}
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func alive(t *testing.T, word string) []string {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && strings.Contains(string(data), word) {
			found = append(found, string(data))
		}
	}
	return found
}

func TestNothingSurvivesCancel(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	s := open(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	line := `for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sleep 7654.321 &) ; (sleep 7654.321 &); nohup sleep 7654.321 >/dev/null 2>&1 & done; wait; sleep 7654.321`
	_, err := s.Exec(ctx, sandbox.Command{Shell: line})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if left := alive(t, "7654.321"); len(left) > 0 {
		t.Errorf("%d processes live on: %q", len(left), left)
	}
}

func TestNothingSurvivesClose(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	s := open(t, nil)
	r, err := s.Exec(t.Context(), sandbox.Command{Shell: "setsid sleep 8765.432 & sleep 8765.432 & echo ok"})
	if err != nil || r.Stdout != "ok\n" || r.ExitCode != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(alive(t, "8765.432")) == 0 {
		t.Error("a background process should live until the sandbox closes")
	}
	s.Close()
	if left := alive(t, "8765.432"); len(left) > 0 {
		t.Errorf("%d processes live on: %q", len(left), left)
	}
}

func TestNoGroupSurvivesClose(t *testing.T) {
	s := open(t, nil)
	r, err := s.Exec(t.Context(), sandbox.Command{Shell: "env -i sleep 1000 & echo $!"})
	if err != nil {
		t.Fatal(err)
	}
	pid := atoi(t, r.Stdout)
	if !runs(pid) {
		t.Error("a background process should live until the sandbox closes")
	}
	s.Close()
	until(t, func() bool { return !runs(pid) })
}

func TestHugeOutputStaysCapped(t *testing.T) {
	s := open(t, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := s.Exec(t.Context(), sandbox.Command{Shell: "head -c 1000000000 /dev/zero; echo end"})
	runtime.ReadMemStats(&after)
	if err != nil || !r.Truncated || len(r.Stdout) > 1<<20+100 || !strings.HasSuffix(r.Stdout, "end\n") {
		t.Errorf("%d bytes, truncated %v, %v", len(r.Stdout), r.Truncated, err)
	}
	if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 16<<20 {
		t.Errorf("allocated %d bytes for a capped output", grown)
	}
}

func TestLimits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ulimit differs")
	}
	s := open(t, &local.Options{Policy: sandbox.Policy{Limits: sandbox.Limits{
		CPU: time.Second, FileSize: 1024, OpenFiles: 16, Memory: 1 << 30, Processes: 4096,
	}}})
	r, err := s.Exec(t.Context(), sandbox.Command{Shell: "ulimit -c; ulimit -t; ulimit -n; ulimit -v; head -c 100000 /dev/zero >big; echo $limit; wc -c <big"})
	if err != nil || r.Stdout != "0\n1\n16\n1048576\n\n1024\n" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = s.Exec(t.Context(), sandbox.Command{Args: []string{"sh", "-c", "ulimit -n"}})
	if err != nil || r.Stdout != "16\n" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPolicyEnv(t *testing.T) {
	env := map[string]string{"PATH": os.Getenv("PATH"), "ALLOWED": "yes", "OPENAI_API_KEY": "sk-1"}
	s := open(t, &local.Options{
		Policy: sandbox.Policy{Env: []string{"ALLOWED"}},
		Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	r, err := s.Exec(t.Context(), sandbox.Command{Shell: `echo "$ALLOWED$OPENAI_API_KEY"`})
	if err != nil || r.Stdout != "yes\n" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRunCodeErrors(t *testing.T) {
	s := open(t, nil)
	for _, test := range []struct{ lang, source, want string }{
		{"python", "print(1)\n1/0", "ZeroDivisionError: division by zero"},
		{"python", "x = (", "SyntaxError: '(' was never closed"},
		{"bash", "exit 7", "exit code 7"},
	} {
		r, err := s.RunCode(t.Context(), sandbox.Code{Language: test.lang, Source: test.source})
		if errors.Is(err, sandbox.ErrUnsupported) {
			t.Log(err)
			continue
		}
		if err != nil || r.Error != test.want {
			t.Errorf("%s %q: %+v, %v, want error %q", test.lang, test.source, r, err, test.want)
		}
	}
	r, err := s.RunCode(t.Context(), sandbox.Code{Language: "bash", Source: "sleep 60", Timeout: 100 * time.Millisecond})
	if err != nil || !strings.Contains(r.Error, "longer than") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRunCodeHasEmptyInput(t *testing.T) {
	s := open(t, nil)
	for _, test := range []struct{ lang, comment, source, want string }{
		{"bash", "#", "read x\necho \"[$x]\"\ncat\nprintf done", "[]\ndone"},
		{"node", "//", `process.stdin.on("end", () => process.stdout.write("done")).resume()`, "done"},
		{"python", "#", "import sys\nprint([sys.stdin.read()], end='')", "['']"},
	} {
		for name, source := range map[string]string{
			"short": test.source,
			"long":  test.comment + strings.Repeat(" long", 40_000) + "\n" + test.source,
		} {
			r, err := s.RunCode(t.Context(), sandbox.Code{Language: test.lang, Source: source})
			switch {
			case errors.Is(err, sandbox.ErrUnsupported):
				t.Log(err)
			case test.lang == "node" && name == "long":
				// Its input has ended already when the program starts.
			case err != nil || r.Stdout != test.want || r.Error != "":
				t.Errorf("%s %s: %+v, %v, want output %q", name, test.lang, r, err, test.want)
			}
		}
	}
}

func TestRunCodeText(t *testing.T) {
	s := open(t, nil)
	for _, test := range []struct{ name, source, text, stdout string }{
		{"none", "print(1)", "", "1\n"},
		{"after output", "print(1)\n6 * 7", "42", "1\n"},
		{"a child comes to the end too", "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\n6 * 7", "42", ""},
		{"the last expression forks", "import os\nos.fork() and os.wait() and 7 or 8", "7", ""},
		{"output after it", "import atexit, os, sys\natexit.register(lambda: (sys.stdout.flush(), os.write(1, b'late')))\n6 * 7", "42", "late"},
		{"too much output", "print('x' * 300)\n300 * 'y'", "", strings.Repeat("x", 200) + "\n[... 280 bytes cut ...]\n" + strings.Repeat("y", 160) + "'"},
	} {
		r, err := s.RunCode(t.Context(), sandbox.Code{Language: "python", Source: test.source, MaxOutput: 400})
		if errors.Is(err, sandbox.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff([]string{test.text, test.stdout}, []string{r.Text, r.Stdout}); diff != "" {
			t.Errorf("%s: (-want +got)\n%s%s", test.name, diff, r.Stderr)
		}
	}
}

func TestStream(t *testing.T) {
	s := open(t, nil)
	st := sandbox.NewStream(t.Context(), s)
	begin := st.Record()
	var results []*sandbox.Future[sandbox.Result]
	for i := range 5 {
		results = append(results, st.Exec(sandbox.Command{Shell: fmt.Sprintf("echo %d >>log", i)}))
	}
	log := st.ReadFile("log")
	end := st.Record()
	other := sandbox.NewStream(t.Context(), s)
	other.WaitFor(end)
	late := other.ReadFile("log")
	st.Close()
	for _, f := range results {
		if r, err := f.Wait(t.Context()); err != nil || r.ExitCode != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	for _, f := range []*sandbox.Future[[]byte]{log, late} {
		if data, err := f.Wait(t.Context()); string(data) != "0\n1\n2\n3\n4\n" {
			t.Errorf("the log is %q, %v", data, err)
		}
	}
	if d, err := sandbox.Elapsed(t.Context(), begin, end); d <= 0 || err != nil {
		t.Errorf("elapsed %v, %v", d, err)
	}
	other.Close()
	if _, err := st.ReadFile("log").Wait(t.Context()); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("submit after close: %v", err)
	}
}

func ExampleOpen() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	sb, err := local.Open(context.Background(), dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sb.Close()
	r, err := sb.Exec(context.Background(), sandbox.Command{Shell: "echo hello > greeting; cat greeting"})
	fmt.Print(r.Stdout, err)
	_, err = sb.ReadFile(context.Background(), "../secret")
	fmt.Println("\n" + err.Error())
	// Output:
	// hello
	// <nil>
	// read ../secret: the path leaves the workspace
}
