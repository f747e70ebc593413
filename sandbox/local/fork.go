package local

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/openrath-go/rath/sandbox/driver"
)

// Fork opens a fork of the workspace with the same rules. What these name inside the
// workspace, they name inside the fork. Commands at "bubblewrap" find it under the names of
// the workspace, so that a path means the same in every branch; at the other levels they
// find it where it is.
func (b *box) Fork(ctx context.Context, id driver.SnapshotID) (driver.Sandbox, error) {
	f, err := b.Store.Fork(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	opts := &Options{Policy: b.policy, Getenv: b.getenv, Workspace: b.Store}
	opts.Policy.ReadOnly, opts.Policy.Writable = b.within(b.policy.ReadOnly), b.within(b.policy.Writable)
	opts.Hidden = slices.Concat(b.hidden, b.within(b.hidden)) // here, and in the fork
	o, err := open(ctx, f.Dir, opts)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	o.fork, o.alias = f, append(slices.Clone(b.alias), b.dir, b.named)
	return o, nil
}

// names are those under which commands find the workspace, the one without links first.
func (b *box) names() []string {
	if b.fork != nil && b.policy.Level == driver.LevelBubblewrap {
		return b.alias[:2] // of the workspace that all began with
	}
	return []string{b.dir, b.named}
}

// seen returns the name under which commands find a file of the workspace; others keep
// theirs.
func (b *box) seen(name string) string {
	rel, err := filepath.Rel(b.dir, name)
	if err != nil || !filepath.IsLocal(rel) {
		return name
	}
	return filepath.Join(b.names()[0], rel)
}

// shown are the names under which commands find a folder that the policy names.
func (b *box) shown(p place) []string {
	names := []string{b.seen(p.real), b.seen(p.name)}
	if p.real == b.dir {
		names = b.names()
	}
	return slices.Compact(slices.Clone(names))
}

// within returns the names with those inside the workspace made relative to it.
func (b *box) within(names []string) []string {
	names = slices.Clone(names)
	for i, name := range names {
		if !filepath.IsAbs(name) {
			continue
		}
		if rel, err := b.rebase(filepath.Clean(name)); err == nil {
			names[i] = filepath.FromSlash(rel)
		}
	}
	return names
}
