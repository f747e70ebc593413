//go:build unix

package opensandbox

import (
	"errors"
	"syscall"
)

// alive reports whether a process runs, or is not ours to ask.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
