package flow

import (
	"context"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
)

// kindWorkspace is the kind of the effects that keep and change the files of workspaces.
const kindWorkspace = "workspace"

// taking is what a journal knows a snapshot by.
type taking struct {
	Of string `json:"of"` // what the snapshot is of, among those of one place in a workflow
}

// snapshot keeps the files of a sandbox, and returns nothing of one that cannot keep them.
// A fork that is not open yet will be what is on record.
func snapshot(ctx context.Context, sb *sandbox.Sandbox, of, owner string) (sandbox.SnapshotID, error) {
	live := false
	v, err := effect.Do(ctx, effect.Call{Kind: kindWorkspace, Name: "snapshot", Input: &taking{of}, Class: effect.ReadOnly},
		func(ctx context.Context) (sandbox.Version, error) {
			live = true
			if sb == nil || sb.Workspace() == nil {
				return sandbox.Version{}, nil
			}
			return sb.Keep(ctx, owner)
		})
	if !live && sb != nil {
		sb.Advance(v)
	}
	return v.Snapshot, err
}

// owner is who keeps snapshots: the run, if there is one, or a session.
func owner(ctx context.Context, id session.ID) string {
	if run := RunOf(ctx); run != "" {
		return "runs/" + run
	}
	return "sessions/" + id.String()
}
