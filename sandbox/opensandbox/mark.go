package opensandbox

import (
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Sandboxes are marked with these labels, so that one whose program has gone can be told
// from one in use.
const (
	labelRath       = "rath"            // "1"
	labelHandle     = "rath-handle"     // who opened it, a UUID
	labelHost       = "rath-host"       // where that program runs
	labelPID        = "rath-pid"        // its process
	labelName       = "rath-name"       // what the user calls it
	labelPersistent = "rath-persistent" // "1": it is to outlive its program
)

// Marked is a filter for the sandboxes that Rath has made.
func Marked() Filter { return Filter{Metadata: map[string]string{labelRath: "1"}} }

// Name returns what the sandbox was called when it was opened, as far as labels can hold
// it; empty if it has no name.
func (i Info) Name() string { return i.Metadata[labelName] }

// Persistent reports whether the sandbox is to outlive the program that opened it.
func (i Info) Persistent() bool { return i.Metadata[labelPersistent] == "1" }

// Orphaned reports whether the sandbox was left by a program of this machine that is gone.
// Persistent ones never are, nor those of other machines: these expire.
func (i Info) Orphaned() bool {
	return i.Metadata[labelRath] == "1" && !i.Persistent() && gone(i.Metadata[labelHost], i.Metadata[labelPID])
}

// gone reports whether a process of this machine is not there any more.
func gone(host, pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && n > 0 && host == thisHost() && !alive(n)
}

func labels(o *Options, handle string) map[string]string {
	all := map[string]string{}
	for key, value := range o.Metadata {
		all[key] = value
	}
	all[labelRath], all[labelHandle] = "1", handle
	all[labelHost], all[labelPID] = thisHost(), strconv.Itoa(os.Getpid())
	if name := label(o.Name); name != "" {
		all[labelName] = name
	}
	if o.Persistent {
		all[labelPersistent] = "1"
	}
	return all
}

func thisHost() string {
	name, _ := os.Hostname()
	return label(name)
}

var notLabel = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// label makes of a text what may be the value of a label.
func label(text string) string {
	text = notLabel.ReplaceAllString(text, "-")
	text = text[:min(len(text), 63)]
	return strings.Trim(text, "._-")
}

// snapshotMark begins the name of the snapshots that forks are made from.
const snapshotMark = "rath-fork"

// snapshotName tells whose a snapshot is.
func snapshotName() string {
	return strings.Join([]string{snapshotMark, thisHost(), strconv.Itoa(os.Getpid()), uuid.NewString()}, " ")
}

// Orphaned reports whether the snapshot was made for a fork by a program of this machine
// that is gone.
func (s Snapshot) Orphaned() bool {
	parts := strings.Split(s.Name, " ")
	return len(parts) == 4 && parts[0] == snapshotMark && gone(parts[1], parts[2])
}
