package sandboxtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openrath-go/rath/sandbox"
)

// denial is a promise to keep commands from something, for drivers that claim it.
type denial struct {
	name    string
	because string
	claimed func(sandbox.Capabilities) bool
	check   func(check)
}

// runDenials runs the rules about what commands must not reach.
func runDenials(t *testing.T, open func(t *testing.T) *sandbox.Sandbox) {
	for _, rule := range denials {
		t.Run(rule.name, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			if !s.Capabilities().Exec || !rule.claimed(s.Capabilities()) {
				t.Skip("the driver does not claim it")
			}
			rule.check(check{t, s, t.Context(), rule.because})
		})
	}
}

var denials = []denial{
	{"keeps commands from other files", "a model must not read the user's files, nor change them",
		func(c sandbox.Capabilities) bool { return c.FileDeny }, func(c check) {
			outside := filepath.Join(c.TempDir(), "secret")
			c.must(os.WriteFile(outside, []byte("the-secret"), 0o644), "make a file outside")
			for _, line := range []string{
				"cat $F", "ln -s $F l; cat l", "cat /proc/self/root$F", "cat /proc/1/root$F", "cp $F .; cat secret",
				"ln $F h; cat h", "cd ..; cat $F", "cat /proc/$PPID/root$F",
			} {
				if r := c.with(line, "F="+outside); strings.Contains(r.Stdout, "the-secret") {
					c.broken("%s reads a file outside", line)
				}
			}
			for _, line := range []string{"echo x >$F", "rm -f $F", "mv $F .", ": >>$F; echo x >>$F", "echo x >$F.new", "ln -s $F w; echo x >w"} {
				c.with(line, "F="+outside)
				data, err := os.ReadFile(outside)
				if string(data) != "the-secret" || err != nil {
					c.Fatalf("%s changes a file outside\n\tthe rule: %s", line, c.because)
				}
			}
			if _, err := os.Lstat(outside + ".new"); err == nil {
				c.broken("a command makes a file outside")
			}
			if r := c.shell("cat /etc/shadow"); strings.Contains(r.Stdout, "root:") {
				c.broken("a command reads /etc/shadow")
			}
		}},
	{"keeps commands from the network", "what a model has read must not leave",
		func(c sandbox.Capabilities) bool { return c.NetDeny }, func(c check) {
			var reached atomic.Int64
			l, err := net.Listen("tcp", "127.0.0.1:0")
			c.must(err, "listen")
			defer l.Close()
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					reached.Add(1)
					conn.Close()
				}
			}()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			for program, line := range map[string]string{
				"bash":    "bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + port + "'",
				"perl":    "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => \"127.0.0.1:" + port + "\") or exit 1'",
				"python3": "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", " + port + "), 2)'",
			} {
				r := c.shell("command -v " + program + " >/dev/null || exit 99; " + line)
				if r.ExitCode == 0 || reached.Load() > 0 {
					c.broken("%s reaches this machine by TCP: %+v", program, r)
				}
			}
		}},
	{"lets programs of one command talk", "tests start servers",
		func(c sandbox.Capabilities) bool { return c.NetLoopback }, func(c check) {
			r := c.shell("command -v python3 >/dev/null || exit 99; python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(s.getsockname(), 2)'")
			if r.ExitCode == 99 {
				c.Skip("there is no python3")
			}
			if r.ExitCode != 0 {
				c.broken("a program cannot reach itself: %+v", r)
			}
		}},
	{"keeps commands from other processes", "a model must not end or watch the user's programs",
		func(c sandbox.Capabilities) bool { return c.SignalDeny }, func(c check) {
			victim := exec.CommandContext(c.ctx, "sleep", "1234.567")
			if err := victim.Start(); err != nil {
				c.Skip(err)
			}
			ended := make(chan struct{})
			go func() {
				_ = victim.Wait()
				close(ended)
			}()
			defer func() {
				_ = victim.Process.Kill()
				<-ended
			}()
			r := c.with("cat /proc/$P/environ /proc/$P/maps; ls -l /proc/$P/fd; kill -9 $P", fmt.Sprintf("P=%d", victim.Process.Pid))
			if r.ExitCode == 0 || strings.Contains(r.Stdout, "PATH=") || strings.Contains(r.Stdout, "/sleep") {
				c.broken("a command reaches another process: %+v", r)
			}
			select {
			case <-ended:
				c.broken("a command ends another process")
			default:
			}
			if hides := c.s.Capabilities().PIDHide; hides && strings.Contains(c.shell("cat /proc/[0-9]*/cmdline").Stdout, "1234.567") {
				c.broken("a command sees another process")
			}
		}},
	{"keeps commands from the kernel's settings", "a sandbox that can be rebuilt from inside is none",
		func(c sandbox.Capabilities) bool { return c.SyscallDeny }, func(c check) {
			for _, line := range []string{
				"mount -t tmpfs none .", "mount --bind / .", "unshare -m true", "unshare -U true", "unshare -n true",
				"chroot . true", "echo x >/proc/sys/kernel/core_pattern", "mknod device c 1 1", "hostname x",
			} {
				if r := c.shell(line); r.ExitCode == 0 {
					c.broken("%s works: %+v", line, r)
				}
			}
		}},
}

// with runs a line with more variables.
func (c check) with(line string, env ...string) sandbox.Result {
	c.Helper()
	r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: line, Env: env})
	c.must(err, "run "+line)
	return r
}
