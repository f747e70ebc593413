package tool

import (
	"context"
	"path"
	"strings"
	"sync"
)

// Lock is a resource that a call holds while it runs. Resources are slash paths: who
// holds one holds all below it, and the empty path is everything. Readers share.
type Lock struct {
	Resource string
	Write    bool
}

// ReadFile and WriteFile lock a file or a folder with all in it; name is the
// canonical path that the sandbox gives.
func ReadFile(name string) Lock  { return Lock{Resource: path.Join("files", name)} }
func WriteFile(name string) Lock { return Lock{path.Join("files", name), true} }

// Everything conflicts with every other lock.
func Everything() Lock { return Lock{Write: true} }

func (l Lock) conflicts(m Lock) bool {
	return (l.Write || m.Write) && (within(l.Resource, m.Resource) || within(m.Resource, l.Resource))
}

func within(name, dir string) bool {
	rest, ok := strings.CutPrefix(name, dir)
	return ok && (dir == "" || rest == "" || rest[0] == '/')
}

// table grants tickets in the order in which they were added, conflicting ones one
// after the other. A ticket waits for earlier ones only, so there is no deadlock.
type table struct {
	mu   sync.Mutex
	live map[*ticket]bool
	refs int
}

// ticket is one call's place in the table.
type ticket struct {
	locks   []Lock
	parent  *ticket // of the call that this one is made in
	ready   chan struct{}
	waiting int       // earlier tickets still in the way
	next    []*ticket // tickets that wait for this one
}

// add queues a ticket behind all that it conflicts with. A call made within another
// call does not wait for its ancestors, nor for tickets not yet granted: those may be
// waiting for an ancestor.
func (t *table) add(locks []Lock, parent *ticket) *ticket {
	k := &ticket{locks: locks, parent: parent, ready: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	for u := range t.live {
		if k.conflicts(u) && !k.inside(u) && (parent == nil || u.waiting == 0) {
			u.next = append(u.next, k)
			k.waiting++
		}
	}
	if t.live == nil {
		t.live = map[*ticket]bool{}
	}
	t.live[k] = true
	if k.waiting == 0 {
		close(k.ready)
	}
	return k
}

// release lets go of a ticket, granted or not.
func (t *table) release(k *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, k)
	for _, u := range k.next {
		if u.waiting--; u.waiting == 0 {
			close(u.ready)
		}
	}
}

func (k *ticket) conflicts(u *ticket) bool {
	for _, a := range k.locks {
		for _, b := range u.locks {
			if a.conflicts(b) {
				return true
			}
		}
	}
	return false
}

func (k *ticket) inside(u *ticket) bool {
	for p := k.parent; p != nil; p = p.parent {
		if p == u {
			return true
		}
	}
	return false
}

// wait returns when the ticket is granted or ctx ends.
func (k *ticket) wait(ctx context.Context) error {
	select {
	case <-k.ready:
		return nil
	default:
	}
	select {
	case <-k.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// spaces holds one table for each sandbox in use, so that all tools of all agents that
// work in one place respect each other.
var spaces = struct {
	sync.Mutex
	tables map[string]*table
}{tables: map[string]*table{}}

// enter returns the table of a place; the empty place is private. leave must follow.
func enter(place string) (t *table, leave func()) {
	if place == "" {
		return &table{}, func() {}
	}
	spaces.Lock()
	defer spaces.Unlock()
	t = spaces.tables[place]
	if t == nil {
		t = &table{}
		spaces.tables[place] = t
	}
	t.refs++
	return t, func() {
		spaces.Lock()
		defer spaces.Unlock()
		if t.refs--; t.refs == 0 {
			delete(spaces.tables, place)
		}
	}
}
