//go:build unix

package mcptool

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// own gives a program a session of its own, so that it has no terminal, and has its end
// kill its whole group.
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

func terminateGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // it may just have ended
}

// killGroup kills what an ended program has left of its group, and waits for it to be gone;
// not for long, since it is for the system's first process to bury it. The group's number
// can be given to a new process only once the group is gone: if there is such a process,
// the group is a stranger's.
func killGroup(cmd *exec.Cmd) {
	id := cmd.Process.Pid
	for range 20 {
		if !errors.Is(syscall.Kill(id, 0), syscall.ESRCH) || syscall.Kill(-id, syscall.SIGKILL) != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
