package local_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"golang.org/x/sys/unix"
)

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

var confined = []string{sandbox.LevelLandlock, sandbox.LevelBubblewrap}

// setStage makes what the attempts are aimed at.
func setStage(t *testing.T) stage {
	t.Helper()
	s := stage{outside: shortTemp(t), name: fmt.Sprintf("rath-%d", os.Getpid())}
	for _, name := range []string{"secret", "victim", "gone", "mode", "readonly/file"} {
		name = filepath.Join(s.outside, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("outside"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	echo := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.CopyN(c, c, 5)
				c.Close()
			}
		}()
		return l
	}
	s.tcp = echo("tcp", "127.0.0.1:0").Addr().String()
	echo("unix", "@"+s.name)
	echo("unix", s.outside+"/socket")
	datagrams := func(network, address string) net.PacketConn {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	datagrams("unixgram", s.outside+"/datagrams")
	udp := datagrams("udp", "127.0.0.1:0")
	s.udp = udp.LocalAddr().String()
	go func() {
		buffer := make([]byte, 5)
		for {
			_, from, err := udp.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo(buffer, from)
		}
	}()
	victim := exec.CommandContext(t.Context(), "sleep", "1000")
	victim.Dir = s.outside
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = victim.Process.Kill()
		_ = victim.Wait()
	})
	s.pid = victim.Process.Pid
	s.shm = 0x72617468 + os.Getpid()
	if id, err := unix.SysvShmGet(s.shm, 4096, unix.IPC_CREAT|0o600); err == nil {
		t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	}
	// A folder that the program itself was started with.
	if fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0); err == nil {
		t.Cleanup(func() { _ = unix.Close(fd) })
	}
	return s
}

// shortTemp is a folder with a name that fits a socket's.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rath")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// attack runs the attempts in a sandbox and returns those that got out.
func attack(t *testing.T, s *sandbox.Sandbox, at stage, env ...string) map[string]bool {
	t.Helper()
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Placement().Spec.WorkingDir, "attacker"), program, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := s.Exec(t.Context(), sandbox.Command{
		Args: []string{"./attacker"}, Env: append(append(at.environ(), helperEnv+"=attack"), env...),
	})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(r.Stdout) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 {
			t.Fatalf("the attacker says %q", line)
		}
		out[f[0]] = f[1] == "escaped"
		t.Logf("%-30s %s %s", f[0], f[1], f[2])
	}
	for name, file := range map[string]string{"create a file": "new", "make a folder": "folder"} {
		_, err := os.Lstat(filepath.Join(at.outside, file))
		out[name] = err == nil
	}
	out["signal by a pipe"] = !runs(at.pid)
	return out
}

// open are the attempts that a level does not stop. What bubblewrap has here are the
// sandbox's own processes.
var notStopped = map[string][]string{
	sandbox.LevelLandlock:   {"change a mode", "change a time", "see a process"},
	sandbox.LevelBubblewrap: {"slow all of the user's"},
}

func TestEscape(t *testing.T) {
	for _, level := range confined {
		t.Run(level, func(t *testing.T) {
			at := setStage(t)
			t.Setenv("RATH_TEST_KEY", "sk-of-the-program")
			s := openAt(t, level, &local.Options{Policy: sandbox.Policy{
				ReadOnly: []string{filepath.Join(at.outside, "readonly")},
			}})
			var out []string
			for name, escaped := range attack(t, s, at) {
				if escaped {
					out = append(out, name)
				}
			}
			slices.Sort(out)
			if diff := cmp.Diff(notStopped[level], out); diff != "" {
				t.Errorf("attempts that are not stopped (-want +got)\n%s", diff)
			}
		})
	}
}
