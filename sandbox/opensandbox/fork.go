package opensandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/workspace"
)

// Snapshot keeps the workspace as it is.
func (b *box) Snapshot(ctx context.Context) (*workspace.Snapshot, error) {
	taken, err := b.keeper.Snapshot(ctx)
	return taken, b.explain(ctx, err)
}

// Apply merges changes into the workspace.
func (b *box) Apply(ctx context.Context, from, to driver.SnapshotID) (driver.SnapshotID, error) {
	before, err := b.keeper.Apply(ctx, from, to)
	return before, b.explain(ctx, err)
}

// Restore makes the workspace what a snapshot is.
func (b *box) Restore(ctx context.Context, id driver.SnapshotID) (driver.SnapshotID, error) {
	before, err := b.keeper.Restore(ctx, id)
	return before, b.explain(ctx, err)
}

// Fork opens a sandbox made from the server's snapshot of this one, with all that was
// installed in it; where the server keeps none, one made as this one was. Its workspace
// becomes what the store's snapshot has: a directory of this machine if this one's is.
func (b *box) Fork(ctx context.Context, id driver.SnapshotID) (driver.Sandbox, error) {
	opts := b.opts
	opts.Name, opts.Persistent, opts.Dir = "", false, ""
	opts.Policy = b.policy
	f, err := newBox(&opts)
	if err != nil {
		return nil, err
	}
	if err := b.source(ctx, f); err != nil {
		return nil, errors.Join(err, f.end())
	}
	if b.bound {
		// Whoever binds it may not see what is mounted here.
		how := &workspace.ForkOptions{Methods: []workspace.Method{workspace.Reflink, workspace.Copy}}
		if f.dir, err = b.opts.Workspace.Fork(ctx, id, how); err != nil {
			return nil, errors.Join(err, f.end())
		}
		f.opts.Dir = f.dir.Dir
	}
	if err := f.start(ctx); err != nil {
		return nil, err
	}
	if !f.bound {
		if _, err := f.keeper.Restore(ctx, id); err != nil {
			f.abandon(ctx)
			return nil, fmt.Errorf("restore snapshot %.12s: %w", id, err)
		}
	}
	return f, nil
}

// source decides what a fork is made from.
func (b *box) source(ctx context.Context, f *box) error {
	taken, err := b.client.Snapshot(ctx, b.id, snapshotName())
	switch {
	case err == nil:
		f.taken = taken.ID
		f.opts.SnapshotID, f.opts.Image, f.opts.ImageAuth = taken.ID, "", nil
	case !errors.Is(err, driver.ErrUnsupported):
		return err
	case f.opts.Image == "" && f.opts.SnapshotID == "": // it was attached
		f.opts.SnapshotID = b.info.SnapshotID
		if b.info.Image != nil {
			f.opts.Image = b.info.Image.URI
		}
	}
	return nil
}

// deleteTaken has the server forget the snapshot that a fork was made from. The server
// refuses as long as the sandbox is not quite gone.
func (b *box) deleteTaken() error {
	if b.taken == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_, err := poll(ctx, func() (_ struct{}, done bool, err error) {
		err = b.client.DeleteSnapshot(ctx, b.taken)
		var e *APIError
		if errors.As(err, &e) && e.Status == http.StatusConflict {
			return struct{}{}, false, nil
		}
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return struct{}{}, err == nil, err
	}, "snapshot "+b.taken+" to be deleted")
	return err
}
