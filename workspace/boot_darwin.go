package workspace

import "golang.org/x/sys/unix"

// bootID tells one run of the machine from another, empty if that is not known.
func bootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}
