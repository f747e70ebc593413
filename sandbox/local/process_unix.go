//go:build unix

package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/openrath-go/rath/sandbox/driver"
)

const (
	nonblock = syscall.O_NONBLOCK
	canLimit = true
)

// own gives a command a session of its own and has its end kill the whole group.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

// alive reports whether a process of an ended command's group is left that we may kill.
// Its number can be given to a new process only once the group is gone: if there is such
// a process, the group is not ours.
func (g *group) alive() bool {
	return syscall.Kill(-g.id, 0) == nil && errors.Is(syscall.Kill(g.id, 0), syscall.ESRCH)
}

func (g *group) kill() {
	if g.alive() {
		_ = syscall.Kill(-g.id, syscall.SIGKILL) // it may just have ended
	}
}

// argv has a shell set the limits and then become the program, or go on with the line:
// so no process of the command ever runs without them.
func (b *box) argv(c driver.Command) []string {
	if c.Shell != "" {
		return []string{"/bin/sh", "-c", b.limits() + c.Shell}
	}
	return append([]string{"/bin/sh", "-c", b.limits() + `exec "$@"`, "sh"}, c.Args...)
}

// limits is the shell's prologue. A limit that cannot be set ends the command.
func (b *box) limits() string {
	l := b.policy.Limits
	var s strings.Builder
	s.WriteString("ulimit -c 0\n" + b.cage.prologue())
	set := func(value int64, flags string) {
		if value > 0 {
			fmt.Fprintf(&s, "for limit in %s; do ulimit -$limit %d 2>/dev/null && limit= && break; done; "+
				"[ -z \"$limit\" ] || { echo 'cannot set the limits' >&2; exit 126; }; unset limit\n", flags, value)
		}
	}
	set(int64((l.CPU+999999999)/1e9), "t")
	set((l.Memory+1023)/1024, "v")
	set((l.FileSize+511)/512, "f")
	if b.counter == nil {
		set(int64(l.Processes), "u p") // bash's word, dash's word
	}
	set(int64(l.OpenFiles), "n")
	return s.String()
}
