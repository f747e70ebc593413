package tool

import (
	"context"
	"errors"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/sandbox"
)

// Change is what the files of the workspace were before and after a call. What other
// calls changed that ran at the same time is in it too. The zero Change is that of a call
// around which nothing was kept: it cannot change files, or its sandbox keeps none.
type Change struct {
	Before  sandbox.SnapshotID `json:"before,omitempty"`
	After   sandbox.SnapshotID `json:"after,omitempty"`
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
	after, errAfter := sb.Keep(context.WithoutCancel(ctx), j.owner())
	out.Change = &Change{Before: before, After: after}
	if problem := errors.Join(errBefore, errAfter); problem != nil {
		out.Change.Problem = problem.Error()
	}
	return out, nil
}

// owner is who keeps the snapshots of the call.
func (j *job) owner() string {
	if j.d.Owner != "" {
		return j.d.Owner
	}
	return "sessions/" + j.inv.session.ID().String()
}
