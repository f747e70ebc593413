package run

import (
	"bytes"
	"errors"
	"fmt"
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

// gone reports whether no process has the number, or only what is left of one that ended
// and that nobody has asked about. A number that was given to another process meanwhile
// is not gone: then the lease has to run out.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ") // after the name, which may hold anything
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}
