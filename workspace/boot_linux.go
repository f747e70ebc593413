package workspace

import "os"

// bootID tells one run of the machine from another, empty if that is not known.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id)
}
