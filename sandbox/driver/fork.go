package driver

import (
	"context"

	"github.com/openrath-go/rath/workspace"
)

// SnapshotID names what the files of a workspace were at a time. The zero value is none.
type SnapshotID = workspace.ID

// Forker is what a driver also implements if the files of its sandboxes can be kept and
// forked. Snapshots of every driver are kept on this machine, in one kind of store.
type Forker interface {
	// Workspace is where snapshots are kept. nil: this sandbox keeps none, and nothing
	// below is called.
	Workspace() *workspace.Store
	// Snapshot keeps the workspace as it is.
	Snapshot(ctx context.Context) (*workspace.Snapshot, error)
	// Fork opens a sandbox like this one whose workspace begins as a snapshot. Its Close
	// removes that workspace.
	Fork(ctx context.Context, id SnapshotID) (Sandbox, error)
	// Apply merges into the workspace what leads from one snapshot to another, as
	// [workspace.Store.Apply] does.
	Apply(ctx context.Context, from, to SnapshotID) (before SnapshotID, err error)
	// Restore makes the workspace what a snapshot is.
	Restore(ctx context.Context, id SnapshotID) (before SnapshotID, err error)
}

// Folder is most of a [Forker] whose workspace is a directory of this machine.
type Folder struct {
	Store *workspace.Store // nil: no snapshots are kept
	Dir   string
}

// Workspace returns the store.
func (f Folder) Workspace() *workspace.Store { return f.Store }

// Snapshot keeps the directory as it is.
func (f Folder) Snapshot(ctx context.Context) (*workspace.Snapshot, error) {
	return f.Store.Snapshot(ctx, f.Dir)
}

// Apply merges changes into the directory.
func (f Folder) Apply(ctx context.Context, from, to SnapshotID) (SnapshotID, error) {
	return f.Store.Apply(ctx, f.Dir, from, to)
}

// Restore makes the directory what a snapshot is.
func (f Folder) Restore(ctx context.Context, id SnapshotID) (SnapshotID, error) {
	return f.Store.Restore(ctx, f.Dir, id)
}
