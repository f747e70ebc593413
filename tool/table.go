package tool

import (
	"context"
	"errors"
	"sync"
)

// Why a call cannot have its locks. Only a call made within another call meets these.
var (
	errDeadlock = errors.New("another call holds what it needs, and waits for the call that it is made in")
	errWidens   = errors.New("it needs everything, and the call it is made in has locked only a part: that one must lock everything")
)

// table grants tickets. Of two that conflict one waits for the other until that one is
// released; only a call and the calls made within it hold what conflicts.
//
// A ticket cannot end before those that it waits for, nor before those of the calls made
// within its call. That relation never has a cycle, so there is no deadlock: a new ticket
// waits for no ticket that cannot end before it.
type table struct {
	mu   sync.Mutex
	live map[*ticket]bool
}

// shared is the table of all sandboxes, so that all tools of all agents that work in one
// place respect each other.
var shared table

// ticket is one call's place in the table.
type ticket struct {
	locks   []Lock        // absolute
	parent  *ticket       // of the call that this one is made in
	ready   chan struct{} // closed when it is granted
	waiting int           // tickets in the way
	next    []*ticket     // tickets that wait for this one
	gone    bool          // released
}

// add queues a new ticket behind those that it conflicts with.
func (t *table) add(parent *ticket, locks []Lock) (*ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := &ticket{parent: parent}
	if err := t.queue(k, locks); err != nil {
		t.drop(k)
		return nil, err
	}
	if t.live == nil {
		t.live = map[*ticket]bool{}
	}
	t.live[k] = true
	return k, nil
}

// extend has a granted ticket wait for more locks, ahead of those that wait for it. After
// an error nothing is left to do but to release it.
func (t *table) extend(k *ticket, locks []Lock) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queue(k, locks)
}

// queue puts a ticket behind the live ones that it conflicts with, but ahead of those
// that cannot end before it: they are made to wait, or, if one is granted already, the
// ticket is refused.
func (t *table) queue(k *ticket, locks []Lock) error {
	k.locks, k.ready = append(k.locks, locks...), make(chan struct{})
	late := map[*ticket]bool{}
	k.delays(late)
	for u := range t.live {
		switch {
		case u == k || !k.conflicts(u):
		case k.inside(u):
			if k.exclusive() && !u.exclusive() {
				return errWidens
			}
		case !late[u]:
			u.blocks(k)
		case u.waiting > 0:
			k.blocks(u)
		default:
			return errDeadlock
		}
	}
	if k.waiting == 0 {
		close(k.ready)
	}
	return nil
}

// release lets go of a ticket, granted or not.
func (t *table) release(k *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(k)
}

func (t *table) drop(k *ticket) {
	delete(t.live, k)
	for _, u := range k.next {
		if u.waiting--; u.waiting == 0 {
			close(u.ready)
		}
	}
	k.next, k.gone = nil, true
}

// blocks makes u wait for k.
func (k *ticket) blocks(u *ticket) {
	k.next = append(k.next, u)
	u.waiting++
}

// delays marks k and all that cannot end before it.
func (k *ticket) delays(marked map[*ticket]bool) {
	if k == nil || k.gone || marked[k] {
		return
	}
	marked[k] = true
	k.parent.delays(marked)
	for _, u := range k.next {
		u.delays(marked)
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

// exclusive reports whether the ticket's call may change where file names lead.
func (k *ticket) exclusive() bool {
	for _, l := range k.locks {
		if l.Write && within(l.Resource, "names") {
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
	case <-ctx.Done():
		return ctx.Err()
	}
}
