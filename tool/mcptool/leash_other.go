//go:build !linux

package mcptool

import (
	"os"
	"os/exec"
)

// start starts a program. This system's kernel does not kill on behalf of the dead, so
// there is no leash; a nil one may be closed.
func start(cmd *exec.Cmd) (leash *os.File, err error) { return nil, cmd.Start() }
