//go:build !unix

package contract

import (
	"os"
	"os/exec"
)

const (
	signalInt  = 0
	signalPipe = 0
	signalTerm = 0
	signalKill = 0
)

func ownGroup(*exec.Cmd) {}

func (c *command) signal(int) { _ = c.cmd.Process.Signal(os.Kill) }

func (c *command) signalStop(bool) {}

func (sb *sandbox) killAll() {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	for _, c := range sb.commands {
		c.signal(signalKill)
	}
}
