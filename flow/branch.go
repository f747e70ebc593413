package flow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/workspace"
)

// Branches are forks of one session that go on by themselves and are joined. Where the
// session's sandbox can be forked, each has a workspace of its own. Close them.
type Branches struct {
	// Sessions are the branches. Put what becomes of each in its place; different ones may
	// be replaced at the same time.
	Sessions []session.Session

	from   session.Session
	owner  string
	base   sandbox.SnapshotID // empty: they share the workspace
	forks  []*sandbox.Sandbox // nil in a replay
	joined bool
}

// Branch forks a session n times, with its workspace. A workspace that cannot be forked is
// shared: the session is not placed, or its placement does not say Forkable. One that
// should be and fails to be is an error.
func Branch(ctx context.Context, s session.Session, n int) (*Branches, error) {
	b := share(s, n)
	if !s.Placement().Forkable || n == 0 {
		return b, nil
	}
	b.owner = owner(ctx, s.ID())
	var err error
	if b.base, err = snapshot(ctx, s.Sandbox(), "base", b.owner); err != nil {
		return nil, fail(ctx, s.ID(), "branch", err)
	}
	if b.base == "" || s.Sandbox() == nil {
		return b, nil
	}
	for i := range b.Sessions {
		fork, err := s.Sandbox().Fork(b.base)
		if err != nil {
			return nil, errors.Join(fail(ctx, s.ID(), "branch", err), b.Close())
		}
		b.forks = append(b.forks, fork)
		b.Sessions[i] = b.Sessions[i].To(fork)
	}
	return b, nil
}

// share makes branches that work in one workspace. They are forked in order, before
// anything runs: ids are minted the same way each time.
func share(s session.Session, n int) *Branches {
	b := &Branches{Sessions: make([]session.Session, n), from: s}
	for i := range b.Sessions {
		b.Sessions[i] = s.Fork()
	}
	return b
}

// Close removes the workspaces of the branches. If they have not been joined, what they had
// in them is kept for as long as the run or the session is on record; the error is that it
// could not be. What cannot be removed is left to [workspace.Store.GC].
func (b *Branches) Close() error {
	var errs []error
	for i, f := range b.forks {
		if !b.joined {
			if _, err := f.Keep(context.Background(), b.owner); err != nil {
				errs = append(errs, fmt.Errorf("keep the files of branch %d: %w", i, err))
			}
		}
		_ = f.Close()
	}
	b.forks = nil
	return errors.Join(errs...)
}

// Merge merges the conversations as [session.Merge] does, and leaves the session's
// workspace as it was.
func (b *Branches) Merge(ctx context.Context) (session.Session, error) {
	if len(b.Sessions) == 0 {
		return b.from, nil
	}
	parts := slices.Clone(b.Sessions)
	for i, s := range parts {
		if b.forked(i, s) {
			parts[i] = s.To(b.from.Sandbox())
		}
	}
	parts[0] = journaled(ctx, parts[0]) // the merged session is named here, not in a branch
	merged, err := session.Merge(parts...)
	if err != nil {
		return b.from, fail(ctx, b.from.ID(), "merge", err)
	}
	return merged, nil
}

// forked reports whether a session is still placed on the fork of its branch.
func (b *Branches) forked(i int, s session.Session) bool {
	return i < len(b.forks) && s.Sandbox() == b.forks[i]
}

// Join merges the conversations, and the workspaces into that of the session which was
// forked: three-way, against what it was then, and with what it has changed since. If that
// does not go together, the workspace stays as it is and the error is a [*ConflictError];
// the session with it has the merged conversation.
//
// With a workflow to resolve conflicts, that goes on from the merged conversation and a
// message that names the files, in a workspace where they have both sides between conflict
// markers. What it leaves is the result, unless it left markers as they were.
func (b *Branches) Join(ctx context.Context, resolve Workflow) (session.Session, error) {
	out, err := b.Merge(ctx)
	if err != nil || b.base == "" {
		return out, err
	}
	ends, err := b.ends(ctx)
	if err != nil {
		return out, fail(ctx, out.ID(), "join", err)
	}
	to := b.base
	if slices.ContainsFunc(ends, func(id sandbox.SnapshotID) bool { return id != b.base }) {
		if out, to, err = b.combine(ctx, out, ends, resolve); err != nil {
			return out, fail(ctx, out.ID(), "join", err)
		}
	}
	if to != b.base {
		if to, err = b.apply(ctx, ends, to); err != nil {
			return out, fail(ctx, out.ID(), "join", err)
		}
	}
	b.joined = true
	return out.WithMark(to), nil
}

// ends are the workspaces as the branches left them.
func (b *Branches) ends(ctx context.Context) ([]sandbox.SnapshotID, error) {
	ends := make([]sandbox.SnapshotID, len(b.Sessions))
	for i, s := range b.Sessions {
		var fork *sandbox.Sandbox
		if b.forked(i, s) {
			fork = b.forks[i]
		}
		id, err := snapshot(ctx, fork, fmt.Sprintf("branch %d", i), b.owner)
		if err != nil {
			return nil, err
		}
		if ends[i] = id; id == "" { // it went on elsewhere
			ends[i] = b.base
		}
	}
	return ends, nil
}

// store has the snapshots. A run may have been taken up without its sandbox.
func (b *Branches) store() (*workspace.Store, error) {
	if sb := b.from.Sandbox(); sb != nil && sb.Workspace() != nil {
		return sb.Workspace(), nil
	}
	return nil, tool.ErrNoSandbox
}

// joining is what a journal knows a merge of workspaces by, and what it does.
type joining struct {
	Base     sandbox.SnapshotID   `json:"base"`
	Branches []sandbox.SnapshotID `json:"branches,omitempty"`
	To       sandbox.SnapshotID   `json:"to,omitempty"`
	Markers  bool                 `json:"markers,omitempty"`
}

// joined is what a journal keeps of it.
type joined struct {
	sandbox.Version
	Conflicts []workspace.Conflict `json:"conflicts,omitempty"`
}

// combine merges what the branches left.
func (b *Branches) combine(ctx context.Context, s session.Session, ends []sandbox.SnapshotID, resolve Workflow) (session.Session, sandbox.SnapshotID, error) {
	in := joining{Base: b.base, Branches: ends, Markers: resolve != nil}
	m, err := effect.Do(ctx, effect.Call{Kind: kindWorkspace, Name: "merge", Input: &in, Class: effect.ReadOnly},
		func(ctx context.Context) (joined, error) {
			store, err := b.store()
			if err != nil {
				return joined{}, err
			}
			m, err := store.MergeAll(ctx, in.Base, in.Branches, &workspace.MergeOptions{Markers: in.Markers})
			if err != nil {
				return joined{}, err
			}
			return joined{sandbox.Version{Snapshot: m.ID}, m.Conflicts}, store.Keep(ctx, b.owner+"/"+string(m.ID), m.ID)
		})
	switch {
	case err != nil || len(m.Conflicts) == 0:
		return s, m.Snapshot, err
	case resolve == nil:
		return s, "", &ConflictError{Base: b.base, Branches: ends, Merged: m.Snapshot, Conflicts: m.Conflicts}
	}
	return b.resolve(ctx, s, ends, m, resolve)
}

// resolve has a workflow resolve conflicts.
func (b *Branches) resolve(ctx context.Context, s session.Session, ends []sandbox.SnapshotID, m joined, w Workflow) (session.Session, sandbox.SnapshotID, error) {
	var fork *sandbox.Sandbox
	in := s.Append(session.User(session.Text(conflictMessage(m.Conflicts))))
	if from := b.from.Sandbox(); from != nil {
		var err error
		if fork, err = from.Fork(m.Snapshot); err != nil {
			return s, "", err
		}
		defer fork.Close()
		in = in.To(fork)
	}
	out, err := Forward(ctx, "resolve", w, in)
	if fork != nil && out.Sandbox() == fork {
		out = out.To(b.from.Sandbox())
	}
	if err != nil {
		return out, "", errors.Join(&ConflictError{Base: b.base, Branches: ends, Merged: m.Snapshot, Conflicts: m.Conflicts}, err)
	}
	id, err := snapshot(ctx, fork, "resolved", b.owner)
	if err != nil {
		return out, "", err
	}
	left, err := b.unresolved(ctx, m, id)
	if err == nil && len(left) > 0 {
		err = &ConflictError{Base: b.base, Branches: ends, Merged: id, Conflicts: left, Unresolved: true}
	}
	return out, id, err
}

// unresolved are the conflicts whose files still have the lines that mark them.
func (b *Branches) unresolved(ctx context.Context, m joined, to sandbox.SnapshotID) ([]workspace.Conflict, error) {
	in := joining{Base: m.Snapshot, To: to}
	return effect.Do(ctx, effect.Call{Kind: kindWorkspace, Name: "unresolved", Input: &in, Class: effect.ReadOnly},
		func(ctx context.Context) ([]workspace.Conflict, error) {
			store, err := b.store()
			if err != nil {
				return nil, err
			}
			files, err := store.List(ctx, in.To)
			if err != nil {
				return nil, err
			}
			var left []workspace.Conflict
			for _, c := range m.Conflicts {
				marked, err := marked(ctx, store, files[c.Path])
				if err != nil {
					return nil, err
				}
				if marked && c.Kind == workspace.Contents {
					left = append(left, c)
				}
			}
			return left, nil
		})
}

// markers begin the lines between which the sides of a conflict are.
var markers = [][]byte{[]byte("<<<<<<< "), []byte(">>>>>>> ")}

// marked reports whether a file has conflict markers.
func marked(ctx context.Context, store *workspace.Store, e workspace.Entry) (bool, error) {
	if e.Blob == "" {
		return false, nil
	}
	var text bytes.Buffer
	if err := store.Read(ctx, e.Blob, &text); err != nil {
		return false, err
	}
	for line := range bytes.Lines(text.Bytes()) {
		if slices.ContainsFunc(markers, func(m []byte) bool { return bytes.HasPrefix(line, m) }) {
			return true, nil
		}
	}
	return false, nil
}

// apply brings what was merged into the workspace of the session that was forked.
func (b *Branches) apply(ctx context.Context, ends []sandbox.SnapshotID, to sandbox.SnapshotID) (sandbox.SnapshotID, error) {
	in := joining{Base: b.base, To: to}
	sb := b.from.Sandbox()
	live := false
	// Doing it again finds what is done already, and it merges with itself.
	out, err := effect.Do(ctx, effect.Call{Kind: kindWorkspace, Name: "apply", Input: &in, Class: effect.Idempotent},
		func(ctx context.Context) (joined, error) {
			live = true
			if _, err := b.store(); err != nil {
				return joined{}, err
			}
			_, err := sb.Apply(ctx, in.Base, in.To)
			var conflict *workspace.ConflictError
			if errors.As(err, &conflict) {
				return joined{Conflicts: conflict.Conflicts}, nil
			}
			if err != nil {
				return joined{}, err
			}
			v, err := sb.Keep(ctx, b.owner)
			return joined{Version: v}, err
		})
	if !live && sb != nil {
		sb.Advance(out.Version)
	}
	if err == nil && len(out.Conflicts) > 0 {
		err = &ConflictError{Base: b.base, Branches: ends, Merged: to, Conflicts: out.Conflicts, Meanwhile: true}
	}
	return out.Snapshot, err
}

// conflictMessage tells whoever is to resolve conflicts what they are.
func conflictMessage(conflicts []workspace.Conflict) string {
	var text strings.Builder
	text.WriteString("Branches of this conversation worked on copies of the workspace at the same time, and changed the same places differently. " +
		"The workspace has what goes together, and in these files what does not, between conflict markers where they are text. Make them what they should be:\n")
	for _, c := range conflicts {
		fmt.Fprintf(&text, "- %s (%s): here %s; branch %d has %s; before it was %s\n",
			c.Path, c.Kind, sideText(c.Ours), c.Branch, sideText(c.Theirs), sideText(c.Base))
	}
	return text.String()
}

// sideText says what a side of a conflict has.
func sideText(e workspace.Entry) string {
	switch {
	case e == (workspace.Entry{}):
		return "nothing"
	case e.Mode.IsDir():
		return "a folder"
	case e.Mode&fs.ModeSymlink != 0:
		return "a link"
	}
	return "a file"
}
