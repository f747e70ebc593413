package tool

import (
	"context"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/sandbox"
)

// Change is what the files of the workspace were before and after a call. What other
// calls changed that ran at the same time is in it too. The zero Change is that of a call
// around which nothing was kept: it cannot change files, or its sandbox keeps none.
type Change struct {
	Before  sandbox.SnapshotID `json:"before,omitempty"`
	After   sandbox.SnapshotID `json:"after,omitempty"`
	Number  int64              `json:"number,omitempty"`  // After's, see [sandbox.Version]
	Problem string             `json:"problem,omitempty"` // why one of them is missing
}

// changing performs a call with a snapshot of the workspace before it and one after. A
// call is not refused because there can be none.
func (j *job) changing(ctx context.Context) (performed, error) {
	sb := j.inv.session.Sandbox()
	if j.tool.Class == effect.ReadOnly || sb == nil || sb.Workspace() == nil {
		return j.perform(ctx)
	}
	before, errBefore := sb.Keep(ctx, j.owner())
	out, err := j.perform(ctx)
	if err != nil {
		return out, err
	}
	if errBefore != nil { // it will not be better after
		out.Change = &Change{Problem: errBefore.Error()}
		return out, nil
	}
	out.Change = &Change{Before: before.Snapshot}
	after, err := sb.Keep(context.WithoutCancel(ctx), j.owner())
	if err != nil {
		out.Change.Problem = err.Error()
	}
	out.Change.After, out.Change.Number = after.Snapshot, after.Number
	return out, nil
}

// settledChange keeps the workspace as it is where a person says what a call gave that
// nobody saw the end of. What it was before is not known.
func (j *job) settledChange(ctx context.Context) *Change {
	if !j.inv.session.Placement().Forkable {
		return nil
	}
	sb := j.inv.session.Sandbox()
	v, err := effect.Do(ctx, effect.Call{Kind: "workspace", Name: "settled", Class: effect.ReadOnly},
		func(ctx context.Context) (sandbox.Version, error) {
			if sb == nil || sb.Workspace() == nil {
				return sandbox.Version{}, nil
			}
			return sb.Keep(ctx, j.owner())
		})
	if err != nil || v.Snapshot == "" {
		return nil
	}
	return &Change{After: v.Snapshot, Number: v.Number}
}

// owner is who keeps the snapshots of the call.
func (j *job) owner() string {
	if j.d.Owner != "" {
		return j.d.Owner
	}
	return "sessions/" + j.inv.session.ID().String()
}
