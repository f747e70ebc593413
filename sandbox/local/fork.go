package local

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/openrath-go/rath/sandbox/driver"
)

// Fork opens a fork of the workspace with the same rules. What these name inside the
// workspace, they name inside the fork.
func (b *box) Fork(ctx context.Context, id driver.SnapshotID) (driver.Sandbox, error) {
	f, err := b.Store.Fork(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	opts := &Options{Policy: b.policy, Getenv: b.getenv, Workspace: b.Store}
	opts.Policy.ReadOnly, opts.Policy.Writable = b.within(b.policy.ReadOnly), b.within(b.policy.Writable)
	for _, name := range b.within(b.hidden) {
		if !within(f.Dir, name) { // forks are kept where nothing else is to be seen
			opts.Hidden = append(opts.Hidden, name)
		}
	}
	o, err := open(ctx, f.Dir, opts)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	o.fork, o.alias = f, append([]string{b.dir, b.named}, b.alias...)
	return o, nil
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
