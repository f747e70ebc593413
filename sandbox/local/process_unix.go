//go:build unix

package local

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/internal/shell"
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
	if b.counter != nil {
		l.Processes = 0
	}
	return b.cage.prologue() + shell.Limits(l)
}
