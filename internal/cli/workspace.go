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

// snapshot returns what the files of the workspace were after the first n chunks of a
// session, by its marks and those of what it comes from.
func (r *records) snapshot(ctx context.Context, f found) (sandbox.SnapshotID, error) {
	if id, ok := session.Before(f.Lineage().Marks(), f.n); ok {
		return id.Snapshot, nil
	}
	h, at := f.Head(), f.n
	for {
		source, err := r.source(ctx, h)
		switch {
		case err != nil:
			return "", err
		case source.ID.IsZero():
			err := fmt.Errorf("session %s: %w", f.ID(), errNoSnapshot)
			return "", &hinted{err, "snapshots are kept around tool calls that can change files, in a sandbox with --snapshots; rath show names them"}
		case h.Lineage.Op == session.OpCompress || at > source.Len:
			at = source.Len // else it is cut from it
		}
		if m, ok := session.Before(source.Lineage.Marks(), at); ok {
			return m.Snapshot, nil
		}
		h = source
	}
}

// source is the session that another one's files are those of, the zero Head if there is
// none or more than one.
func (r *records) source(ctx context.Context, h session.Head) (session.Head, error) {
	for _, p := range h.Lineage.Parents {
		if p.Role != session.RoleInput {
			continue
		}
		heads, err := collect(r.Heads(ctx, store.SessionFilter{Prefix: p.ID.String(), Limit: 1}))
		if err != nil || len(heads) == 0 {
			return session.Head{}, err
		}
		return heads[0], nil
	}
	return session.Head{}, nil
}
