// Package owner tells which process of which machine something was made by, so that what
// outlives its maker can be found.
package owner

import (
	"os"
	"strconv"
)

// Process names a process. Its fields are fit to be labels.
type Process struct {
	Host string
	PID  string
	Born string // tells it from others that get its number later; empty: nothing does here
}

// Self is the process that asks.
func Self() Process {
	host, _ := os.Hostname()
	return Process{host, strconv.Itoa(os.Getpid()), born(os.Getpid())}
}

// Gone reports whether a process of this machine is not there any more. Of those of other
// machines nothing is known, so they are not gone.
func (p Process) Gone() bool {
	host, err := os.Hostname()
	if err != nil || host != p.Host {
		return false
	}
	pid, err := strconv.Atoi(p.PID)
	if err != nil || pid <= 0 {
		return false
	}
	return !alive(pid) || p.Born != "" && born(pid) != p.Born
}
