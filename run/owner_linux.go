package run

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// machine names the boot and the pid namespace in which this process's number means
// something.
func machine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "+" + ns
}

// gone reports whether no process has the number. One that was given to another process
// meanwhile is not gone: then the lease has to run out.
func gone(pid int) bool {
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
