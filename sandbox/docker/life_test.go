package docker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/docker"
)

// running are the command lines of the processes in a sandbox that have a text in them.
func running(t *testing.T, s *sandbox.Sandbox, text string) (all []string) {
	t.Helper()
	r := shell(t, s, `for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || { tr '\0' ' ' <$p/cmdline; echo; } 2>/dev/null; done`)
	for line := range strings.Lines(r.Stdout) {
		if strings.Contains(line, text) {
			all = append(all, line)
		}
	}
	return all
}

// Whatever a command starts ends with it, when it is made to end.
func TestTheWholeTreeEnds(t *testing.T) {
	s := open(t, options(t, "volume"))
	for name, line := range map[string]string{
		"children":                   "sleep 7654 & (sleep 7654 &); nohup sleep 7654 >/dev/null 2>&1 & echo begun; sleep 7654",
		"another session":            "setsid sleep 7654 & echo begun; sleep 7654",
		"a wiped environment":        "env -i sleep 7654 & echo begun; sleep 7654",
		"a name with anything in it": "cp /bin/busybox '/workspace/a) R 1 1 1 (b\n)'; ln -s '/workspace/a) R 1 1 1 (b\n)' sleep; env -i './a) R 1 1 1 (b\n)' sleep 7654 & echo begun; sleep 7654",
		"signals ignored":            "trap '' TERM INT HUP; sleep 7654 & echo begun; while :; do sleep 7654; done",
		"a stopped process":          "sleep 7654 & kill -STOP $!; echo begun; sleep 7654",
		"streams closed":             "echo begun; exec >&- 2>&- <&-; sleep 7654",
	} {
		t.Run(name, func(t *testing.T) {
			other := make(chan sandbox.Result)
			ctx, cancel := context.WithCancel(t.Context())
			live := &firer{text: "begun", fire: cancel}
			go func() { other <- shell(t, s, "sleep 2; echo lived") }()
			_, err := s.Exec(ctx, sandbox.Command{Shell: line, Stdout: live})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
			if left := running(t, s, "7654"); len(left) > 0 {
				t.Errorf("%d processes live on: %q", len(left), left)
			}
			if r := <-other; r.Stdout != "lived\n" {
				t.Errorf("another command came to %+v", r)
			}
		})
	}
}

// firer fires once when a text has come.
type firer struct {
	text string
	fire func()
	once sync.Once
	got  strings.Builder
}

func (w *firer) Write(p []byte) (int, error) {
	w.got.Write(p)
	if strings.Contains(w.got.String(), w.text) {
		w.once.Do(w.fire)
	}
	return len(p), nil
}

// A bomb is ended even if there is no room for the process that is to do it, and if the
// bomb kills that.
func TestForkBomb(t *testing.T) {
	for name, line := range map[string]string{
		"a bomb":                        `sh -c 'bomb() { bomb | bomb & }; bomb' & while :; do :; done`,
		"one that kills all the others": `kill -9 -1; sh -c 'bomb() { bomb | bomb & }; bomb' & while :; do :; done`,
		"in new sessions":               `echo 'while :; do setsid sh /workspace/b & setsid sh /workspace/b; done' >/workspace/b; sh /workspace/b & while :; do :; done`,
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "volume")
			o.Policy.Limits.Processes = 40
			s := open(t, o)
			must(t, s.WriteFile(t.Context(), "before", []byte("x")))
			r, err := s.Exec(t.Context(), sandbox.Command{Shell: line + " # 7654", Timeout: 2 * time.Second})
			if err != nil || !r.TimedOut {
				t.Errorf("%+v, %v", r, err)
			}
			if got, err := s.ReadFile(t.Context(), "before"); err != nil || string(got) != "x" {
				t.Errorf("the workspace has %q, %v", got, err)
			}
			if left := running(t, s, "/workspace/b"); len(left) > 0 {
				t.Errorf("%d processes live on", len(left))
			}
		})
	}
}

func TestLimits(t *testing.T) {
	o := options(t, "directory")
	o.Policy.Limits = sandbox.Limits{CPU: time.Second, Memory: 64 << 20, FileSize: 1 << 20, Processes: 20, OpenFiles: 32}
	s := open(t, o)
	r := shell(t, s, "ulimit -c; ulimit -t; ulimit -v; ulimit -f; ulimit -n")
	if r.Stdout != "0\n1\n65536\n2048\n32\n" {
		t.Errorf("%+v", r)
	}
	for name, test := range map[string]struct{ line, not string }{
		"processes":         {"n=0; while [ $n -lt 100 ]; do sleep 2 & n=$((n+1)); done; echo all", "all"},
		"memory of a file":  {"head -c 100000000 /dev/zero | tail -c 90000000 | wc -c", "90000000"},
		"memory in total":   {"head -c 100000000 /dev/zero >/dev/shm/x && echo all", "all"},
		"the size of files": {"head -c 2000000 /dev/zero >big; wc -c <big", "2000000"},
		"time":              {"while :; do :; done; echo all", "all"},
	} {
		r, err := s.Exec(t.Context(), sandbox.Command{Shell: test.line, Timeout: 20 * time.Second})
		if err != nil || r.TimedOut || strings.Contains(r.Stdout, test.not) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	shell(t, s, "true") // it is still there
}

func TestEscape(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			s := open(t, options(t, kind))
			for _, line := range []string{
				"ls /var/run/docker.sock", "find / -name docker.sock 2>/dev/null | grep .",
				"mount -t tmpfs none /mnt", "mount -o remount,rw /proc/sys", "umount /proc/sys", "umount /workspace",
				"mknod /workspace/disk b 254 0", "echo x >/proc/sys/kernel/core_pattern", "echo b >/proc/sysrq-trigger",
				"hostname other", "chroot /workspace true", "unshare -U true", "unshare -m true", "nsenter -t 1 -n true",
				"ip link set lo down", "ip route add default dev lo", "ping -c 1 -W 1 127.0.0.1",
				"ping -c 1 -W 1 8.8.8.8", "nslookup localhost 8.8.8.8", "wget -T 1 -O - http://172.17.0.1/", "nc -w 1 8.8.8.8 53",
				"ls /sys/class/net | grep -v lo", "cat /dev/mem", "cat /dev/kmsg", "dmesg", "insmod /workspace/x", "swapoff -a", "reboot -f",
				"cat /proc/kcore | head -c 1 | grep .", "echo 1 >/sys/fs/cgroup/pids/pids.max", "mkdir /sys/fs/cgroup/memory/x",
			} {
				if r, err := s.Exec(t.Context(), sandbox.Command{Shell: line, Timeout: 20 * time.Second}); err != nil || r.ExitCode == 0 {
					t.Errorf("%s: %+v, %v", line, r, err)
				}
			}
		})
	}
}

// Links that a command swaps all the time lead file operations no further than the
// container.
func TestSwappedLinks(t *testing.T) {
	o := options(t, "directory")
	outside := t.TempDir()
	must(t, os.WriteFile(outside+"/victim", []byte("safe"), 0o600))
	s := open(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	begun := &firer{text: "begun"}
	ready := make(chan struct{})
	begun.fire = func() { close(ready) }
	go func() {
		_, err := s.Exec(ctx, sandbox.Command{
			Shell: `mkdir a; echo begun; while :; do mv a b; ln -s "$OUT" a; rm a; mv b a; done`,
			Env:   []string{"OUT=" + outside}, Stdout: begun,
		})
		done <- err
	}()
	<-ready
	for range 100 {
		_ = s.WriteFile(ctx, "a/victim", []byte("taken"))
		if got, err := s.ReadFile(ctx, "a/victim"); err == nil && string(got) == "safe" {
			t.Fatal("a file outside was read")
		}
		_ = s.Remove(ctx, "a/victim")
	}
	cancel()
	<-done
	if got, err := os.ReadFile(outside + "/victim"); string(got) != "safe" {
		t.Errorf("the file outside holds %q, %v", got, err)
	}
}

// What commands do to the shell that serves file operations does not last.
func TestClerkIsReplaced(t *testing.T) {
	s := open(t, options(t, "volume"))
	must(t, s.WriteFile(t.Context(), "f", []byte("x")))
	for range 3 {
		if _, err := s.ReadFile(t.Context(), "f"); err != nil {
			t.Fatal(err)
		}
		shell(t, s, "kill -9 -1")
	}
}

func TestPersistent(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			o := options(t, kind)
			o.Persistent, o.Name = true, "desk"
			o.Policy.Limits.OpenFiles = 77
			s := open(t, o)
			c, err := docker.NewClient("")
			must(t, err)
			t.Cleanup(func() {
				c.Delete(context.Background(), s.ID()) // if it comes to that
				c.Close()
			})
			shell(t, s, "echo kept >f; echo too >~/g; sleep 7654 & true")
			must(t, s.Close())
			i, err := c.Get(t.Context(), s.ID())
			if err != nil || i.Name != "desk" || !i.Persistent || i.Orphaned() || i.State != "running" || i.Dir != o.Dir || i.Image != image {
				t.Errorf("%+v, %v", i, err)
			}
			again, err := docker.Attach(t.Context(), s.ID(), nil)
			must(t, err)
			if again.ID() != s.ID() || again.Policy().Limits.OpenFiles != 77 || again.String() != s.String() {
				t.Errorf("attached to %+v, %+v", again.Placement(), again.Policy())
			}
			if left := running(t, again, "7654"); len(left) > 0 {
				t.Errorf("%d processes live on: %q", len(left), left)
			}
			beside, err := docker.Attach(t.Context(), s.ID(), nil)
			must(t, err)
			shell(t, beside, "sleep 5432 & true")
			must(t, again.Close())
			if left := running(t, beside, "5432"); len(left) != 1 {
				t.Errorf("what another handle runs ended with this one: %q", left)
			}
			must(t, beside.Close())
			_, err = engine(t).ContainerKill(t.Context(), "rath-"+s.ID(), client.ContainerKillOptions{})
			must(t, err)
			again, err = docker.Attach(t.Context(), "rath-"+s.ID(), nil)
			must(t, err)
			if r := shell(t, again, "cat f ~/g; ulimit -n"); r.Stdout != "kept\ntoo\n77\n" {
				t.Errorf("%+v", r)
			}
			must(t, again.Close())
			must(t, c.Delete(t.Context(), s.ID()))
			if _, err := docker.Attach(t.Context(), s.ID(), nil); !errors.Is(err, docker.ErrNotFound) {
				t.Errorf("attach to what is not there: %v", err)
			}
			if err := c.Delete(t.Context(), s.ID()); !errors.Is(err, docker.ErrNotFound) {
				t.Errorf("delete what is not there: %v", err)
			}
		})
	}
	s := open(t, options(t, "volume"))
	if _, err := docker.Attach(t.Context(), s.ID(), nil); err == nil {
		t.Error("attached to what is not persistent")
	}
}

const victimEnv = "RATH_TEST_VICTIM"

// TestVictim opens sandboxes and is killed, for TestOrphans.
func TestVictim(t *testing.T) {
	if os.Getenv(victimEnv) == "" {
		t.Skip("it is a part of TestOrphans")
	}
	for _, kind := range kinds {
		o := options(t, kind)
		o.Workspace, o.Name = snapshots(t), victimEnv
		s := open(t, o)
		id, err := s.Snapshot(t.Context())
		must(t, err)
		f, err := s.Fork(id.ID)
		must(t, err)
		shell(t, f, "echo x >~/x")
		for _, s := range []*sandbox.Sandbox{s, f} {
			go s.Exec(t.Context(), sandbox.Command{Shell: "setsid env -i sleep 7654 & sleep 7654"})
		}
	}
	fmt.Println("opened")
	select {}
}

// A program that is killed leaves nothing that runs, and nothing that is not found.
func TestOrphans(t *testing.T) {
	c := engine(t)
	snapshots(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), victimEnv+"=1")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "opened" {
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	rath, err := docker.NewClient("")
	must(t, err)
	defer rath.Close()
	var orphans []docker.Info
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		all, err := rath.List(t.Context())
		must(t, err)
		orphans = slices.DeleteFunc(all, func(i docker.Info) bool { return !i.Orphaned() || i.Name != victimEnv })
		if !slices.ContainsFunc(orphans, func(i docker.Info) bool { return i.State == "running" }) {
			break
		}
	}
	if len(orphans) != 4 {
		t.Errorf("%d orphans: %+v", len(orphans), orphans)
	}
	for _, o := range slices.Backward(orphans) {
		if o.State == "running" {
			t.Errorf("%s runs on", o.ID)
		}
		must(t, rath.Delete(t.Context(), o.ID))
	}
	if left := objects(t, c, cmd.Process.Pid); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// objects are what an engine has of a process.
func objects(t *testing.T, c *client.Client, pid int) (all []string) {
	t.Helper()
	filter := make(client.Filters).Add("label", fmt.Sprintf("rath-pid=%d", pid))
	containers, err := c.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: filter})
	must(t, err)
	volumes, err := c.VolumeList(t.Context(), client.VolumeListOptions{Filters: filter})
	must(t, err)
	images, err := c.ImageList(t.Context(), client.ImageListOptions{All: true, Filters: filter})
	must(t, err)
	for _, found := range containers.Items {
		all = append(all, found.ID)
	}
	for _, found := range volumes.Items {
		all = append(all, found.Name)
	}
	for _, found := range images.Items {
		all = append(all, found.ID)
	}
	return all
}

// nothingLeft checks that an engine has nothing more of this process.
func nothingLeft(t *testing.T) {
	t.Helper()
	if left := objects(t, engine(t), os.Getpid()); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// However far Open has come when it is cut off, nothing is left.
func TestOpenIsCutOff(t *testing.T) {
	for _, kind := range kinds {
		for after := time.Millisecond; after < 2*time.Second; after += after/2 + 10*time.Millisecond {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			s, err := docker.Open(ctx, options(t, kind))
			cancel()
			if err == nil {
				must(t, s.Close())
				break
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %v: %v", after, err)
			}
		}
	}
	nothingLeft(t)
}

// relay hands connections on to the engine, until it is cut.
type relay struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	wait  sync.WaitGroup
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	network, address, _ := strings.Cut(engine(t).DaemonHost(), "://")
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	must(t, err)
	r := &relay{Listener: l}
	r.wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial(network, address)
			if err != nil {
				conn.Close()
				continue
			}
			r.carry(conn, to)
		}
	})
	return r
}

func (r *relay) carry(a, b net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, a, b)
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		r.wait.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			if c, ok := way[0].(interface{ CloseWrite() error }); ok {
				_ = c.CloseWrite()
			}
		})
	}
}

// drop ends the connections that there are.
func (r *relay) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

func TestTheEngineIsLost(t *testing.T) {
	r := newRelay(t)
	o := options(t, "volume")
	o.Host = "unix://" + r.Addr().String()
	s, err := docker.Open(t.Context(), o)
	must(t, err)
	must(t, s.WriteFile(t.Context(), "f", []byte("x")))

	// A connection that breaks costs what runs, and no more.
	live := &firer{text: "begun", fire: r.drop}
	if _, err := s.Exec(t.Context(), sandbox.Command{Shell: "echo begun; sleep 600", Stdout: live, Timeout: time.Minute}); err != nil {
		t.Logf("the command came to %v", err)
	}
	if got, err := s.ReadFile(t.Context(), "f"); err != nil || string(got) != "x" {
		t.Errorf("the file has %q, %v", got, err)
	}

	r.Close()
	r.drop()
	_, err = s.Exec(t.Context(), sandbox.Command{Shell: "true"})
	var e *sandbox.Error
	if !errors.As(err, &e) || e.Hint() == "" {
		t.Errorf("a command without an engine: %v", err)
	}
	if err := s.Close(); err == nil {
		t.Error("the sandbox was closed without an engine")
	}
	r.wait.Wait()
	c, err := docker.NewClient("")
	must(t, err)
	defer c.Close()
	must(t, c.Delete(t.Context(), s.ID()))
}
