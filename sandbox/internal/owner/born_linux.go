package owner

import (
	"bytes"
	"fmt"
	"os"
)

// born is when a process began, in ticks since the machine did, and which run of the
// machine that was.
func born(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before it may be anything
	if len(fields) < 20 {
		return ""
	}
	return fmt.Sprintf("%s-%s", fields[19], bytes.TrimSpace(boot))
}
