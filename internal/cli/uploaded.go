package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/workspace"
)

// uploaded is a directory that a run works on a copy of. What changes in the copy is
// brought back, for that goes with its sandbox.
type uploaded struct {
	dir   string
	copy  *sandbox.Sandbox
	owner string
	base  sandbox.SnapshotID // of the copy, before the run
}

// bringTime is how long bringing files back may take, once a run is to end.
const bringTime = 5 * time.Minute

// upload notes what a run begins with, nil if it works where its files are, or if no
// snapshots are kept.
func (d *drive) upload(ctx context.Context, run session.ID) (*uploaded, error) {
	if p := d.spec.Place; p == nil || !p.Uploaded || d.sandbox.Workspace() == nil {
		return nil, nil
	}
	u := &uploaded{dir: d.spec.Place.Dir, copy: d.sandbox, owner: "runs/" + run.String()}
	v, err := u.copy.Keep(ctx, u.owner)
	if err != nil {
		return nil, fmt.Errorf("keep the files that were uploaded: %w", err)
	}
	u.base = v.Snapshot
	return u, nil
}

// bring merges what has changed in the copy into the directory.
func (u *uploaded) bring(ctx context.Context) error {
	if u == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bringTime)
	defer cancel()
	v, err := u.copy.Keep(ctx, u.owner)
	if err == nil && v.Snapshot != u.base {
		_, err = u.copy.Workspace().Apply(ctx, u.dir, u.base, v.Snapshot)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("bring the files back to %s: %w", u.dir, err)
	if errors.As(err, new(*workspace.ConflictError)) {
		err = &hinted{err, "the folder has changed in the same places meanwhile: rath fork @ --workspace has the files as the run left them"}
	}
	return err
}
