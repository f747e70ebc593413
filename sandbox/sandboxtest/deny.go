package sandboxtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// denyRules are those about what commands must not reach, for drivers that claim it. They
// are aimed at this machine, where a remote driver's commands reach nothing in any case,
// and change nothing even where they come off.
var denyRules = []rule{
	{"keeps commands from other files", "a model must not read the user's files, nor change them", "Exec FileDeny", func(c check) {
		outside := filepath.Join(c.TempDir(), "secret")
		c.must(os.WriteFile(outside, []byte("the-secret"), 0o644), "make a file outside")
		for _, line := range []string{
			"cat $F", "ln -s $F l; cat l", "cat /proc/self/root$F", "cat /proc/1/root$F", "cp $F .; cat secret",
			"ln $F h; cat h", "cd ..; cat $F", "cat /proc/$PPID/root$F",
		} {
			if r := c.shell(line, "F="+outside); strings.Contains(r.Stdout, "the-secret") {
				c.broken("%s reads a file outside", line)
			}
		}
		for _, line := range []string{"echo x >$F", "rm -f $F", "mv $F .", ": >>$F; echo x >>$F", "echo x >$F.new", "ln -s $F w; echo x >w"} {
			c.shell(line, "F="+outside)
			data, err := os.ReadFile(outside)
			if string(data) != "the-secret" || err != nil {
				c.Fatalf("%s changes a file outside\n\tthe rule: %s", line, c.because)
			}
		}
		if _, err := os.Lstat(outside + ".new"); err == nil {
			c.broken("a command makes a file outside")
		}
	}},
	{"keeps commands from the network", "what a model has read must not leave", "Exec NetDeny", func(c check) {
		addresses, reached := c.listen()
		made := 0
		for _, address := range addresses {
			host, port, _ := net.SplitHostPort(address)
			for program, line := range callers {
				r := c.shell("command -v "+program+" >/dev/null || exit 99; "+line, "HOST="+host, "PORT="+port)
				if r.ExitCode != 99 {
					made++
				}
				if reached() {
					c.broken("%s reaches this machine at %s: %+v", program, address, r)
					return
				}
			}
		}
		if made == 0 {
			c.Skip("there is no program in the sandbox that could call")
		}
	}},
	{"lets programs of one command talk", "tests start servers", "Exec NetLoopback", func(c check) {
		for program, line := range map[string]string{
			"python3": `python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname(), 2)'`,
			"perl": `perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or exit 1;
				IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $s->sockport) or exit 1'`,
			"nc": "nc -l -p 4321 127.0.0.1 </dev/null & for i in 1 2 3 4 5 6 7 8 9; do nc -w 2 127.0.0.1 4321 </dev/null && exit; sleep 0.1; done; exit 1",
		} {
			if c.shell("command -v "+program).ExitCode != 0 {
				continue
			}
			if r := c.shell(line); r.ExitCode != 0 {
				c.broken("%s cannot reach itself: %+v", program, r)
			}
			return
		}
		c.Skip("there is no program in the sandbox that could listen")
	}},
	{"keeps commands from other processes", "a model must not end the user's programs, nor read their memory", "Exec SignalDeny", func(c check) {
		pid, ended := c.bystander("1234.567")
		r := c.shell("cat /proc/$P/environ /proc/$P/maps; ls -l /proc/$P/fd; kill -9 $P", "P="+pid)
		if r.ExitCode == 0 || strings.Contains(r.Stdout, "PATH=") || strings.Contains(r.Stdout, "/sleep") {
			c.broken("a command reaches another process: %+v", r)
		}
		select {
		case <-ended:
			c.broken("a command ends another process")
		default:
		}
	}},
	{"hides other processes", "command lines tell what the user does", "Exec PIDHide", func(c check) {
		c.bystander("1234.765")
		if strings.Contains(c.shell("cat /proc/[0-9]*/cmdline").Stdout, "1234.765") {
			c.broken("a command sees another process")
		}
	}},
	{"keeps commands from the kernel's settings", "a sandbox that can be rebuilt from inside is none", "Exec SyscallDeny", func(c check) {
		for _, line := range []string{
			"mkdir m; mount -t tmpfs none m && umount m", "mkdir b; mount --bind b b && umount b", "unshare -m true", "unshare -U true",
			"unshare -n true", "chroot / true", ": >>/proc/sys/kernel/core_pattern", "mknod device c 1 3", `hostname "$(hostname)"`,
		} {
			if r := c.shell(line); r.ExitCode == 0 {
				c.broken("%s works: %+v", line, r)
			}
		}
	}},
}

// callers are programs that may be in a sandbox, and how they open a connection.
var callers = map[string]string{
	"bash":    `bash -c 'exec 3<>/dev/tcp/$HOST/$PORT'`,
	"perl":    `perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => $ENV{HOST}, PeerPort => $ENV{PORT}, Timeout => 2) or exit 1'`,
	"python3": `python3 -c 'import os, socket; socket.create_connection((os.environ["HOST"], int(os.environ["PORT"])), 2)'`,
	"nc":      `nc -w 2 $HOST $PORT </dev/null`,
}

// listen waits for calls at all addresses of this machine.
func (c check) listen() (addresses []string, reached func() bool) {
	c.Helper()
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	c.must(err, "listen")
	c.Cleanup(func() { l.Close() })
	var calls atomic.Int64
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	all, err := net.InterfaceAddrs()
	c.must(err, "look for this machine's addresses")
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil {
			addresses = append(addresses, net.JoinHostPort(ip.IP.String(), port))
		}
	}
	return addresses, func() bool { return calls.Load() > 0 }
}

// bystander starts a process of the user outside of the sandbox.
func (c check) bystander(seconds string) (pid string, ended <-chan struct{}) {
	c.Helper()
	cmd := exec.CommandContext(c.ctx, "sleep", seconds)
	if err := cmd.Start(); err != nil {
		c.Skip(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	c.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	return fmt.Sprint(cmd.Process.Pid), done
}
