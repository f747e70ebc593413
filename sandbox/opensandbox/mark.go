package opensandbox

import (
	"regexp"
	"strings"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox/internal/owner"
)

// Sandboxes are marked with these labels, so that one whose program has gone can be told
// from one in use.
const (
	labelRath       = "rath"            // "1"
	labelHandle     = "rath-handle"     // who opened it, a UUID
	labelHost       = "rath-host"       // where that program runs
	labelPID        = "rath-pid"        // its process
	labelBorn       = "rath-born"       // when that began
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
	maker := owner.Process{Host: i.Metadata[labelHost], PID: i.Metadata[labelPID], Born: i.Metadata[labelBorn]}
	return i.Metadata[labelRath] == "1" && !i.Persistent() && maker.Gone()
}

func labels(o *Options, handle string) map[string]string {
	all := map[string]string{}
	for key, value := range o.Metadata {
		all[key] = value
	}
	all[labelRath], all[labelHandle] = "1", handle
	self := owner.Self()
	all[labelHost], all[labelPID] = label(self.Host), self.PID
	if self.Born != "" {
		all[labelBorn] = self.Born
	}
	if name := label(o.Name); name != "" {
		all[labelName] = name
	}
	if o.Persistent {
		all[labelPersistent] = "1"
	}
	return all
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
	self := owner.Self()
	return strings.Join([]string{snapshotMark, self.Host, self.PID, self.Born, uuid.NewString()}, " ")
}

// Orphaned reports whether the snapshot was made for a fork by a program of this machine
// that is gone.
func (s Snapshot) Orphaned() bool {
	parts := strings.Split(s.Name, " ")
	return len(parts) == 5 && parts[0] == snapshotMark && owner.Process{Host: parts[1], PID: parts[2], Born: parts[3]}.Gone()
}
