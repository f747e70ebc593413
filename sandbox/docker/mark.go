package docker

import (
	"errors"
	"maps"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox/internal/owner"
)

// What Rath makes bears these labels, so that what its program has left can be told from
// what is in use.
const (
	labelRath       = "rath"            // "1"
	labelID         = "rath-handle"     // the sandbox's ID
	labelName       = "rath-name"       // what the user calls it
	labelHost       = "rath-host"       // where the program runs that has opened it
	labelPID        = "rath-pid"        // its process
	labelBorn       = "rath-born"       // when that began
	labelPersistent = "rath-persistent" // "1": it is to outlive its program
	labelSpec       = "rath-spec"       // what it was made with, JSON
)

// mark is whose something is.
type mark struct {
	ID         string
	Name       string
	Persistent bool
	maker      owner.Process
}

func newMark(name string, persistent bool) mark {
	return mark{uuid.Must(uuid.NewV7()).String(), name, persistent, owner.Self()}
}

func (m mark) labels() map[string]string {
	all := map[string]string{
		labelRath: "1", labelID: m.ID, labelName: m.Name, labelPersistent: "",
		labelHost: m.maker.Host, labelPID: m.maker.PID, labelBorn: m.maker.Born,
	}
	if m.Persistent {
		all[labelPersistent] = "1"
	}
	return all
}

// with adds a label to a copy.
func with(labels map[string]string, key, value string) map[string]string {
	labels = maps.Clone(labels)
	labels[key] = value
	return labels
}

var errForeign = errors.New("it was not made by Rath")

func markOf(labels map[string]string) (mark, error) {
	if labels[labelRath] != "1" || uuid.Validate(labels[labelID]) != nil {
		return mark{}, errForeign
	}
	return mark{
		labels[labelID], labels[labelName], labels[labelPersistent] == "1",
		owner.Process{Host: labels[labelHost], PID: labels[labelPID], Born: labels[labelBorn]},
	}, nil
}

// orphaned reports whether the program that made something is gone, and it was to go too.
func (m mark) orphaned() bool { return !m.Persistent && m.maker.Gone() }

func containerName(id string) string { return "rath-" + id }
