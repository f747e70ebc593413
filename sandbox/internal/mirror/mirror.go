// Package mirror keeps snapshots of a workspace that is not on this machine: it has a copy
// here, which it brings up to date before it does anything. Archives carry the files.
package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/workspace"
)

// Remote is the workspace.
type Remote interface {
	// Fetch returns all of it as an archive, which is not trusted.
	Fetch(ctx context.Context) (io.ReadCloser, error)
	// Deliver removes names, what is in a folder before that, and then puts what goes by
	// others in a directory of this machine, a folder before what is in it. [Pack] makes an
	// archive of these.
	Deliver(ctx context.Context, root *os.Root, remove, put []string) error
}

// Mirror is what a [driver.Forker] does with files. It is safe for concurrent use.
type Mirror struct {
	remote Remote
	store  *workspace.Store
	mu     sync.Mutex
	copy   *workspace.Fork // in the store, which finds it if this program is killed
	root   *os.Root
}

// New makes an empty copy. Close removes it.
func New(ctx context.Context, store *workspace.Store, remote Remote) (*Mirror, error) {
	empty, err := os.MkdirTemp("", "rath-empty-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(empty)
	none, err := store.Snapshot(ctx, empty)
	if err != nil {
		return nil, err
	}
	m := &Mirror{remote: remote, store: store}
	if m.copy, err = store.Fork(ctx, none.ID, &workspace.ForkOptions{Methods: []workspace.Method{workspace.Copy}}); err != nil {
		return nil, err
	}
	if m.root, err = os.OpenRoot(m.copy.Dir); err != nil {
		return nil, errors.Join(err, m.copy.Close())
	}
	return m, nil
}

// Close removes the copy. What the store has stays.
func (m *Mirror) Close() error { return errors.Join(m.root.Close(), m.copy.Close()) }

// Workspace returns the store.
func (m *Mirror) Workspace() *workspace.Store { return m.store }

// Snapshot keeps the workspace as it is.
func (m *Mirror) Snapshot(ctx context.Context) (*workspace.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.pull(ctx); err != nil {
		return nil, err
	}
	return m.store.Snapshot(ctx, m.copy.Dir)
}

// Apply merges changes into the workspace.
func (m *Mirror) Apply(ctx context.Context, from, to driver.SnapshotID) (driver.SnapshotID, error) {
	return m.change(ctx, func() (driver.SnapshotID, error) { return m.store.Apply(ctx, m.copy.Dir, from, to) })
}

// Restore makes the workspace what a snapshot is.
func (m *Mirror) Restore(ctx context.Context, id driver.SnapshotID) (driver.SnapshotID, error) {
	return m.change(ctx, func() (driver.SnapshotID, error) { return m.store.Restore(ctx, m.copy.Dir, id) })
}

// pull makes the copy what the workspace is.
func (m *Mirror) pull(ctx context.Context) error {
	archive, err := m.remote.Fetch(ctx)
	if err == nil {
		err = errors.Join(unpack(m.root, archive), archive.Close())
	}
	if err != nil {
		return fmt.Errorf("download the workspace: %w", err)
	}
	return nil
}

// change changes the copy, and then the workspace in the same way.
func (m *Mirror) change(ctx context.Context, do func() (driver.SnapshotID, error)) (driver.SnapshotID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.pull(ctx); err != nil {
		return "", err
	}
	before, err := do()
	if err != nil {
		return before, err
	}
	after, err := m.store.Snapshot(ctx, m.copy.Dir)
	if err != nil {
		return before, err
	}
	return before, m.push(ctx, before, after.ID)
}

// push does in the workspace what leads from one snapshot to the other, which the copy is.
func (m *Mirror) push(ctx context.Context, before, after driver.SnapshotID) error {
	old, err := m.store.List(ctx, before)
	if err != nil {
		return err
	}
	now, err := m.store.List(ctx, after)
	if err != nil {
		return err
	}
	remove, put := difference(old, now)
	if len(remove)+len(put) == 0 {
		return nil
	}
	if err := m.remote.Deliver(ctx, m.root, remove, put); err != nil {
		return fmt.Errorf("change the workspace: %w", err)
	}
	return nil
}

// difference returns what must go and what must come.
func difference(old, now map[string]workspace.Entry) (remove, put []string) {
	for name, e := range old {
		if new, ok := now[name]; !ok || new.Mode.Type() != e.Mode.Type() {
			remove = append(remove, name)
		}
	}
	for name, e := range now {
		if old[name] != e {
			put = append(put, name)
		}
	}
	slices.SortFunc(remove, func(a, b string) int { return cmp.Compare(b, a) })
	slices.Sort(put)
	return remove, put
}
