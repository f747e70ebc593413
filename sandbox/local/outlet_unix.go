//go:build unix

package local

import (
	"syscall"
	"time"
)

// pipeLimit is more than a pipe holds, and less than what a program in the background
// writes for ever.
const pipeLimit = 1 << 20

// drain passes on what lies in the pipe, without waiting for more.
func (o *outlet) drain() error {
	if err := o.r.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	raw, err := o.r.SyscallConn()
	if err != nil {
		return err
	}
	buf := make([]byte, 32<<10)
	for total := 0; total < pipeLimit; {
		n := 0
		if err := raw.Read(func(fd uintptr) bool { n, _ = syscall.Read(int(fd), buf); return true }); err != nil || n <= 0 {
			return err
		}
		if _, err := o.to.Write(buf[:n]); err != nil {
			return err
		}
		total += n
	}
	return nil
}
