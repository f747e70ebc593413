package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/workspace"
)

// workspaceDir is where in the home the snapshots of workspaces are.
const workspaceDir = "workspace"

// openWorkspace opens the store of snapshots for what needs no directory.
func openWorkspace(ctx context.Context, home string) (*workspace.Store, error) {
	return openWorkspaces(ctx, home, nil)
}

// errNoSnapshot says that the files of a session are not on record.
var errNoSnapshot = errors.New("no snapshot of its workspace is on record")

// snapshot returns what the files of the workspace were after the chunks of a session that
// are meant, by its marks and those of what it comes from.
func (r *records) snapshot(ctx context.Context, f found) (sandbox.SnapshotID, error) {
	return r.snapshotAt(ctx, f.Session, f.n)
}

func (r *records) snapshotAt(ctx context.Context, s session.Session, n int) (sandbox.SnapshotID, error) {
	var failed error
	id, ok := s.SnapshotAt(n, func(parent session.ID) (session.Session, bool) {
		p, err := r.Session(ctx, parent)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			failed = err
		}
		return p, err == nil
	})
	if failed != nil || ok {
		return id, failed
	}
	err := fmt.Errorf("session %s, %s: %w", s.ID(), plural(n, "chunk"), errNoSnapshot)
	return "", &hinted{err, "snapshots are kept around tool calls that can change files, in a sandbox with --snapshots: rath show names them"}
}
