package local_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// stage is what the attempts are aimed at, made outside of the sandbox.
type stage struct {
	Outside         string // a folder with files and sockets
	Program         int    // the process that has the sandbox open
	PID             int    // another process of the same user, in a group of its own
	Spares          []int  // more, those that do not live
	TCP, TCP6       string // they send back what they get
	UDP, DNS, Serve string
	Name            string // of an abstract socket and more
	Key             int    // of shared memory and the like
	Terminal        string
	Mount           string // as the kernel lists it
}

// theKey is what the program has in its environment, and commands must not have.
const theKey = "sk-of-the-program"

// environ tells the attacker, with stageOf for the other end.
func (s stage) environ(level string) []string {
	data, _ := json.Marshal(s) // strings and numbers
	return []string{helperEnv + "=attack", "STAGE=" + string(data), "LEVEL=" + level}
}

func stageOf(getenv func(string) string) (s stage) {
	_ = json.Unmarshal([]byte(getenv("STAGE")), &s)
	return s
}

// setStage makes what the attempts are aimed at.
func setStage(t *testing.T) stage {
	t.Helper()
	s := stage{Outside: shortTemp(t), Program: os.Getpid()}
	s.Name, s.Key = fmt.Sprintf("rath-%d", s.Program), 0x72617468+s.Program
	for _, name := range []string{"secret", "victim", "gone", "taken", "mode", "readonly/file"} {
		name = filepath.Join(s.Outside, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte("outside"), 0o600))
	}
	must(t, os.Symlink("secret", filepath.Join(s.Outside, "link")))
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	s.Mount, _, _ = strings.Cut(string(mounts), "\n")
	s.TCP, s.TCP6 = echo(t, "tcp", "127.0.0.1:0"), echo(t, "tcp6", "[::1]:0")
	echo(t, "unix", "@"+s.Name)
	echo(t, "unix", s.Outside+"/socket")
	echo(t, "unix", s.Outside+"/readonly/socket")
	answer(t, "unixgram", s.Outside+"/datagrams", func(p []byte) []byte { return p })
	s.UDP = answer(t, "udp", "127.0.0.1:0", func(p []byte) []byte { return p })
	s.DNS = answer(t, "udp", "127.0.0.1:0", resolve)
	s.Serve = freePort(t)
	callOften(t, s.Serve)
	s.PID = bystander(t, s.Outside)
	s.Spares = []int{bystander(t, s.Outside), bystander(t, s.Outside)}
	s.Terminal = terminal(t)
	s.share(t)
	inherit(t)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// echo serves on a stream and returns the address, empty where there is no such network.
func echo(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if network == "tcp6" && err != nil {
		return ""
	}
	must(t, err)
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
	return l.Addr().String()
}

// answer serves datagrams.
func answer(t *testing.T, network, address string, reply func([]byte) []byte) string {
	t.Helper()
	c, err := net.ListenPacket(network, address)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	go func() {
		buffer := make([]byte, 512)
		for {
			n, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(reply(buffer[:n]), from)
		}
	}()
	return c.LocalAddr().String()
}

// resolve answers a name server's question: with an address, whatever the name.
func resolve(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) == 0 {
		return nil
	}
	m.Response, m.Additionals = true, nil
	m.Answers = []dnsmessage.Resource{{
		Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET},
		Body:   &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}},
	}}
	reply, _ := m.Pack() // what was unpacked can be packed
	return reply
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// callOften calls until somebody serves there, and after.
func callOften(t *testing.T, address string) {
	t.Helper()
	end, ended := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(end); <-ended })
	go func() {
		defer close(ended)
		for {
			if c, err := net.Dial("tcp", address); err == nil {
				c.Close()
			}
			select {
			case <-end:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
}

// bystander is a process that has nothing to do with the sandbox.
func bystander(t *testing.T, dir string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// terminal makes one, as the user has it.
func terminal(t *testing.T) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { master.Close() })
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(t, err)
	return fmt.Sprintf("/dev/pts/%d", n)
}

// share makes memory and queues that the user's processes share.
func (s stage) share(t *testing.T) {
	key := uintptr(s.Key)
	for _, kind := range []struct{ get, control, argument uintptr }{
		{unix.SYS_SHMGET, unix.SYS_SHMCTL, 4096}, {unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.IPC_CREAT | 0o600}, {unix.SYS_SEMGET, unix.SYS_SEMCTL, 1},
	} {
		id, _, errno := unix.RawSyscall(kind.get, key, kind.argument, unix.IPC_CREAT|0o600)
		if errno == 0 {
			t.Cleanup(func() {
				if kind.control == unix.SYS_SEMCTL {
					_, _, _ = unix.RawSyscall(kind.control, id, 0, unix.IPC_RMID)
				} else {
					_, _, _ = unix.RawSyscall(kind.control, id, unix.IPC_RMID, 0)
				}
			})
		}
	}
	if openQueue(s.Name, unix.O_CREAT|unix.O_RDWR) == nil {
		t.Cleanup(func() {
			name, _ := unix.BytePtrFromString(s.Name)
			_, _, _ = unix.RawSyscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
		})
	}
	if file := "/dev/shm/" + s.Name; os.WriteFile(file, []byte("outside"), 0o600) == nil {
		t.Cleanup(func() { os.Remove(file) })
	}
}

// inherit has the program hold what it was itself started with: a folder and a socket.
func inherit(t *testing.T) {
	if fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0); err == nil {
		t.Cleanup(func() { _ = unix.Close(fd) })
	}
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
		t.Cleanup(func() { _ = unix.Close(fd) })
	}
}

// furnish puts into a workspace what somebody outside may have left there: a device, which
// takes the superuser, and a socket.
func furnish(t *testing.T, dir string) {
	t.Helper()
	_ = unix.Mknod(filepath.Join(dir, "zero"), unix.S_IFCHR|0o600, 1<<8|5)
	echo(t, "unix", filepath.Join(dir, "socket"))
}

// shortTemp is a folder with a name that fits a socket's.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rath")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
