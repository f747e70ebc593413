package sandbox

import (
	"context"
	"sync"

	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/workspace"
)

// fork is how a sandbox is opened that is a fork of another one.
type fork struct {
	of *Sandbox

	mu     sync.Mutex
	at     SnapshotID // the files to begin with
	opened driver.Sandbox
}

// Fork returns a sandbox like this one, whose workspace begins as a snapshot; what happens
// in either does not show in the other. It is opened by its first use, and until then the
// sandbox that it is a fork of must stay open. Close it to remove its files. A sandbox that
// cannot be forked gives ErrUnsupported.
func (s *Sandbox) Fork(id SnapshotID) (*Sandbox, error) {
	if s.Workspace() == nil {
		return nil, wrap("fork", s.url, ErrUnsupported)
	}
	p := s.placement
	p.ID, p.Fork = "", id
	f := handle(p)
	f.url += "#" + f.placement.ID
	f.fork = &fork{of: s, at: id}
	return f, nil
}

// Version is a snapshot of a sandbox's files with its place in the order in which those of
// the sandbox were taken. The zero value is none.
type Version struct {
	Snapshot SnapshotID `json:"snapshot,omitempty"`
	Number   int64      `json:"number,omitempty"`
}

// versions counts them.
type versions struct {
	sync.Mutex
	last int64
}

func (v *versions) next() int64 {
	v.Lock()
	defer v.Unlock()
	v.last++
	return v.last
}

// Advance has a fork that nothing has used yet begin with a later version: what led there
// is on record, and is not done again. It does nothing with a version that is not later,
// and to any other sandbox.
func (s *Sandbox) Advance(v Version) {
	if v.Snapshot == "" {
		return
	}
	s.versions.Lock()
	defer s.versions.Unlock()
	if v.Number <= s.versions.last {
		return
	}
	s.versions.last = v.Number
	if s.fork == nil {
		return
	}
	s.fork.mu.Lock()
	defer s.fork.mu.Unlock()
	if s.fork.opened == nil {
		s.fork.at = v.Snapshot
	}
}

// Workspace returns the store of the sandbox's snapshots, nil if it keeps none.
func (s *Sandbox) Workspace() *workspace.Store {
	if s.fork != nil {
		return s.fork.of.Workspace()
	}
	if f, ok := s.d.(driver.Forker); ok {
		return f.Workspace()
	}
	return nil
}

// Snapshot keeps the files of the workspace as they are, in the store that Workspace
// returns. Of a fork that nothing has used yet it is what that begins with.
func (s *Sandbox) Snapshot(ctx context.Context) (*workspace.Snapshot, error) {
	if id, ok := s.untouched(); ok {
		return &workspace.Snapshot{ID: id}, nil
	}
	return forking(ctx, s, "snapshot", func(ctx context.Context, f driver.Forker) (*workspace.Snapshot, error) {
		return f.Snapshot(ctx)
	})
}

// Keep takes a snapshot and has it kept for an owner, a name such as "runs/7f", until all
// that this owner keeps is dropped from the store.
func (s *Sandbox) Keep(ctx context.Context, owner string) (Version, error) {
	number := s.versions.next() // before it is taken: one with a higher number has all that this one has
	taken, err := s.Snapshot(ctx)
	if err != nil {
		return Version{}, err
	}
	if err := s.Workspace().Keep(ctx, owner+"/"+string(taken.ID), taken.ID); err != nil {
		return Version{}, wrap("keep snapshot", s.url, err)
	}
	return Version{taken.ID, number}, nil
}

// Apply merges into the workspace what leads from one snapshot to another, all or nothing:
// see [workspace.Store.Apply]. It returns the snapshot of what was there before.
func (s *Sandbox) Apply(ctx context.Context, from, to SnapshotID) (before SnapshotID, err error) {
	return forking(ctx, s, "apply changes", func(ctx context.Context, f driver.Forker) (SnapshotID, error) {
		return f.Apply(ctx, from, to)
	})
}

// Restore makes the workspace what a snapshot is. It returns the snapshot of what was
// there before.
func (s *Sandbox) Restore(ctx context.Context, id SnapshotID) (before SnapshotID, err error) {
	return forking(ctx, s, "restore", func(ctx context.Context, f driver.Forker) (SnapshotID, error) {
		return f.Restore(ctx, id)
	})
}

// untouched returns what a fork begins with that nothing has used yet.
func (s *Sandbox) untouched() (SnapshotID, bool) {
	if s.fork == nil {
		return "", false
	}
	s.fork.mu.Lock()
	defer s.fork.mu.Unlock()
	return s.fork.at, s.fork.opened == nil
}

func forking[T any](ctx context.Context, s *Sandbox, op string, fn func(context.Context, driver.Forker) (T, error)) (T, error) {
	return do(s, ctx, op, "", func(ctx context.Context, d driver.Sandbox) (T, error) {
		var none T
		f, ok := d.(driver.Forker)
		if !ok || f.Workspace() == nil {
			return none, ErrUnsupported
		}
		return fn(ctx, f)
	})
}

// driver returns the driver's sandbox, and opens that of a fork.
func (s *Sandbox) driver(ctx context.Context) (driver.Sandbox, error) {
	if s.fork == nil {
		return s.d, nil
	}
	return s.fork.open(ctx)
}

func (f *fork) open(ctx context.Context) (driver.Sandbox, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened != nil {
		return f.opened, nil
	}
	d, err := forking(ctx, f.of, "fork", func(ctx context.Context, d driver.Forker) (driver.Sandbox, error) {
		return d.Fork(ctx, f.at)
	})
	if err == nil {
		f.opened = d
	}
	return d, err
}
