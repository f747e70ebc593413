package flow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/workspace"
)

// ConflictError says that branches have changed the same places of the workspace
// differently. Nothing is lost: the snapshots have what each of them left.
type ConflictError struct {
	Base      sandbox.SnapshotID   // what the branches began with
	Branches  []sandbox.SnapshotID // what each left, in their order
	Merged    sandbox.SnapshotID   // what went together
	Conflicts []workspace.Conflict
}

func (e *ConflictError) Error() string {
	var names []string
	for _, c := range e.Conflicts {
		if name := fmt.Sprintf("%s (%s)", c.Path, c.Kind); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	const most = 5
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return "the branches changed the same places differently: " + strings.Join(names, ", ") + more
}

// Hint says what can be done about it.
func (e *ConflictError) Hint() string {
	return "the workspace is as it was, and what each branch left is kept: set Resolve to have a workflow resolve conflicts, or Share to have the branches work in one workspace"
}
