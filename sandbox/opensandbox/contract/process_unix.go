//go:build unix

package contract

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	signalInt  = syscall.SIGINT
	signalPipe = syscall.SIGPIPE
	signalTerm = syscall.SIGTERM
	signalKill = syscall.SIGKILL
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signal reaches the whole group of a command that has not ended.
func (c *command) signal(sig syscall.Signal) {
	select {
	case <-c.done:
	default:
		_ = syscall.Kill(-c.cmd.Process.Pid, sig)
	}
}

// signalStop stops a command, or has it go on.
func (c *command) signalStop(stop bool) {
	if stop {
		c.signal(syscall.SIGSTOP)
	} else {
		c.signal(syscall.SIGCONT)
	}
}

// killAll kills what runs in a sandbox: groups of commands, and on Linux what has left
// them.
func (sb *sandbox) killAll() {
	sb.mu.Lock()
	for _, c := range sb.commands {
		c.signal(signalKill)
	}
	sb.mu.Unlock()
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(data, []byte(markSandbox+"="+sb.id)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			_ = syscall.Kill(pid, signalKill)
		}
	}
}
