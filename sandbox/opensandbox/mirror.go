package opensandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/workspace"
)

// mirror keeps snapshots of a workspace that is only in the sandbox: it has a copy on this
// machine, which it brings up to date before it does anything.
type mirror struct {
	b     *box
	store *workspace.Store
	mu    sync.Mutex
	copy  *workspace.Fork // in the store, which finds it if this program is killed
	root  *os.Root
}

func newMirror(ctx context.Context, b *box, store *workspace.Store) (*mirror, error) {
	empty, err := os.MkdirTemp("", "rath-empty-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(empty)
	none, err := store.Snapshot(ctx, empty)
	if err != nil {
		return nil, err
	}
	m := &mirror{b: b, store: store}
	if m.copy, err = store.Fork(ctx, none.ID, &workspace.ForkOptions{Methods: []workspace.Method{workspace.Copy}}); err != nil {
		return nil, err
	}
	if m.root, err = os.OpenRoot(m.copy.Dir); err != nil {
		return nil, errors.Join(err, m.copy.Close())
	}
	return m, nil
}

func (m *mirror) close() error { return errors.Join(m.root.Close(), m.copy.Close()) }

// Workspace returns the store.
func (m *mirror) Workspace() *workspace.Store { return m.store }

// pull makes the copy what the workspace is.
func (m *mirror) pull(ctx context.Context) error {
	archive, err := m.b.fetch(ctx)
	if err == nil {
		err = errors.Join(unpack(m.root, archive), archive.Close())
	}
	if err != nil {
		return fmt.Errorf("download the workspace: %w", err)
	}
	return nil
}

// Snapshot keeps the workspace as it is.
func (m *mirror) Snapshot(ctx context.Context) (*workspace.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.pull(ctx); err != nil {
		return nil, err
	}
	return m.store.Snapshot(ctx, m.copy.Dir)
}

// Apply merges changes into the workspace.
func (m *mirror) Apply(ctx context.Context, from, to driver.SnapshotID) (driver.SnapshotID, error) {
	return m.change(ctx, func() (driver.SnapshotID, error) { return m.store.Apply(ctx, m.copy.Dir, from, to) })
}

// Restore makes the workspace what a snapshot is.
func (m *mirror) Restore(ctx context.Context, id driver.SnapshotID) (driver.SnapshotID, error) {
	return m.change(ctx, func() (driver.SnapshotID, error) { return m.store.Restore(ctx, m.copy.Dir, id) })
}

// change changes the copy, and then the workspace in the same way.
func (m *mirror) change(ctx context.Context, do func() (driver.SnapshotID, error)) (driver.SnapshotID, error) {
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
func (m *mirror) push(ctx context.Context, before, after driver.SnapshotID) error {
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
	if err := m.b.deliver(ctx, m.root, remove, put); err != nil {
		return fmt.Errorf("change the workspace: %w", err)
	}
	return nil
}

// difference returns what must go, what is in a folder before that, and what must come, a
// folder before what is in it.
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
	slices.SortFunc(put, strings.Compare)
	return remove, put
}
