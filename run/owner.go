package run

import (
	"fmt"
	"os"
	"strings"

	"github.com/openrath-go/rath/session"
)

// newOwner names this process as the holder of leases: the machine and process, so that
// others there can see whether it lives, and a number of its own.
func newOwner() string {
	nonce, _ := session.NewID()
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%s/%d/%s", host, machine(), os.Getpid(), nonce)
}

// dead reports whether the process of an owner is known to live no more. It may not be
// known: then it is not dead.
func dead(owner string) bool {
	parts := strings.Split(owner, "/")
	here := machine()
	if len(parts) != 4 || here == "" || parts[1] != here {
		return false
	}
	var pid int
	if _, err := fmt.Sscan(parts[2], &pid); err != nil {
		return false
	}
	return gone(pid)
}
