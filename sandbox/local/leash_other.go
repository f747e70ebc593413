//go:build !linux

package local

import (
	"os"
	"os/exec"
)

// newLeash makes none: this system's kernel does not kill on behalf of the dead.
func newLeash(*exec.Cmd, int) (leash, collar *os.File, err error) { return nil, nil, nil }

func tie(*os.File, int) {}
