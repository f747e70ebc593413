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

	Meanwhile  bool // it is the workspace itself that has changed in these places meanwhile
	Unresolved bool // Resolve has left them as they were
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
	what := "the branches changed the same places differently: "
	switch {
	case e.Meanwhile:
		what = "the workspace has changed meanwhile where the branches have: "
	case e.Unresolved:
		what = "what was to resolve conflicts has left some: "
	}
	return what + strings.Join(names, ", ") + more
}

// Hint says what can be done about it.
func (e *ConflictError) Hint() string {
	if e.Meanwhile || e.Unresolved {
		return "the workspace is as it was, and what each branch left is kept"
	}
	return "the workspace is as it was, and what each branch left is kept: set Resolve to have a workflow resolve conflicts, or Share to have the branches work in one workspace"
}
