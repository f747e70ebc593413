package workspace_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openrath-go/rath/workspace"
)

// helper is the variable that makes the test binary another process: what it is to do,
// then the store, then a directory, then an argument.
const helper = "RATH_WORKSPACE_HELPER"

func TestMain(m *testing.M) {
	if job := os.Getenv(helper); job != "" {
		if err := help(strings.Split(job, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Trees on disk cost more than what rapid usually checks a hundred of.
	if err := flag.Set("rapid.checks", "30"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func help(job []string) error {
	ctx := context.Background()
	s, err := workspace.Open(ctx, job[1], nil)
	if err != nil {
		return err
	}
	switch job[0] {
	case "snapshot":
		for range 5 {
			if _, err := s.Snapshot(ctx, job[2]); err != nil {
				return err
			}
		}
		snap, err := s.Snapshot(ctx, job[2])
		if err == nil {
			fmt.Println(snap.ID)
		}
		return err
	case "churn": // until it is killed
		for n := 0; ; n++ {
			for i := range 100 {
				name := filepath.Join(job[2], numbered(i))
				if err := os.WriteFile(name, fmt.Appendf(nil, "%d of %d", i, n), 0o644); err != nil {
					return err
				}
			}
			snap, err := s.Snapshot(ctx, job[2])
			if err != nil {
				return err
			}
			if err := s.Keep(ctx, "last", snap.ID); err != nil {
				return err
			}
			if n == 0 {
				fmt.Println("ready")
			}
			if _, err := s.Fork(ctx, snap.ID, nil); err != nil {
				return err
			}
		}
	case "victim":
		return beVictim(ctx, s, job)
	case "worker":
		return work(ctx, s, job)
	case "restore":
		fmt.Println("ready")
		for n := 0; ; n++ {
			if _, err := s.Restore(ctx, job[2], workspace.ID(job[3+n%2])); err != nil {
				return err
			}
		}
	case "fork": // with a change in it, left to itself
		f, err := s.Fork(ctx, workspace.ID(job[2]), nil)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(f.Dir, "unsaved"), []byte("work"), 0o644); err != nil {
			return err
		}
		fmt.Println(f.Dir, f.Method)
		time.Sleep(time.Hour)
	case "methods":
		f, err := s.Fork(ctx, workspace.ID(job[2]), &workspace.ForkOptions{Methods: []workspace.Method{workspace.Overlay}})
		if err != nil {
			return err
		}
		if err := inner(s, f); err != nil {
			return err
		}
		fmt.Println(f.Method)
		return f.Close()
	}
	runtime.KeepAlive(s)
	return nil
}

// inner checks a fork where the test itself cannot look: it changes and removes things, and
// takes a snapshot of the result.
func inner(s *workspace.Store, f *workspace.Fork) error {
	if err := os.Remove(filepath.Join(f.Dir, "a")); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(f.Dir, "dir")); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(f.Dir, "dir"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.Dir, "dir", "new"), []byte("new"), 0o644); err != nil {
		return err
	}
	snap, err := s.Snapshot(context.Background(), f.Dir)
	if err != nil {
		return err
	}
	second, err := s.Fork(context.Background(), snap.ID, &workspace.ForkOptions{Methods: []workspace.Method{workspace.Overlay}})
	if err != nil {
		return err
	}
	defer second.Close()
	entries, err := os.ReadDir(filepath.Join(second.Dir, "dir"))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(second.Dir, "a")); err == nil || len(entries) != 1 {
		return fmt.Errorf("the fork of a fork has a: %v, and in dir %v", err == nil, entries)
	}
	return nil
}

// process runs this test binary as another process.
func process(t *testing.T, job ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helper+"="+strings.Join(job, "\n"))
	cmd.Stderr = t.Output()
	return cmd
}

// started runs one until it says something, and returns that.
func started(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, cmd.Wait())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return strings.TrimSuffix(line, "\n")
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

// mountFile makes a file system in a file and mounts it, or skips the test.
func mountFile(t testing.TB, kind string) string {
	t.Helper()
	image, at := filepath.Join(t.TempDir(), "image"), t.TempDir()
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 4<<30)) // sparse
	for _, command := range [][]string{{"mkfs." + kind, "-q", image}, {"mount", "-o", "loop", image, at}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no %s here: %v: %v: %s", kind, command, err, out)
		}
	}
	t.Cleanup(func() { must(t, exec.Command("umount", at).Run()) })
	return at
}
