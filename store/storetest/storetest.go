// Package storetest holds the rules that every [store.Store] keeps. A store is right if
// Run passes, with the race detector on.
//
// Next: [github.com/openrath-go/rath/sandbox/opensandbox/contract], one of the servers to test against.
package storetest

import (
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// Run holds stores against the rules. Each call of open gives another store, with nothing
// in it; Run closes them.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, group := range [][]rule{sessionRules, objectRules, runRules, leaseRules, journalRules, interruptRules, collectRules, useRules} {
		for _, r := range group {
			t.Run(r.name, func(t *testing.T) {
				s := open(t)
				defer func() {
					if err := s.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
						t.Errorf("close: %v", err)
					}
				}()
				r.check(&test{t, s})
			})
		}
	}
}

type rule struct {
	name  string
	check func(t *test)
}

// test is a test with the store that it is about.
type test struct {
	*testing.T
	store.Store
}

// ok ends the test on an error.
func (t *test) ok(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails checks that an error is of a kind.
func (t *test) fails(err, kind error, rule string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: the error is %v, want %v", rule, err, kind)
	}
}

// equal compares what was read with what it must be.
func (t *test) equal(want, got any, rule string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", rule, diff)
	}
}

func all[V any](t *test, seq iter.Seq2[V, error]) (list []V) {
	t.Helper()
	for v, err := range seq {
		t.ok(err)
		list = append(list, v)
	}
	return list
}

func (t *test) put(sessions ...session.Session) {
	t.Helper()
	t.ok(t.PutSessions(t.Context(), sessions...))
}

// has reports whether a session is kept.
func (t *test) has(id session.ID) bool {
	t.Helper()
	_, err := t.Session(t.Context(), id)
	if !errors.Is(err, store.ErrNotFound) {
		t.ok(err)
	}
	return err == nil
}

// hasObject reports whether an object is kept.
func (t *test) hasObject(d session.Digest) bool {
	t.Helper()
	_, err := t.Object(t.Context(), d)
	if !errors.Is(err, store.ErrNotFound) {
		t.ok(err)
	}
	return err == nil
}

// driven is a run with its lease and the end of its events.
type driven struct {
	store.Run
	head store.Head
}

var counter atomic.Int64

// start makes a run with one event that somebody drives.
func (t *test) start() *driven {
	t.Helper()
	id, at := session.NewID()
	l := store.Lease{Run: id, Owner: "first", Fence: 1, Expires: at.Add(time.Hour)}
	r := &driven{Run: store.Run{ID: id, Name: "test", Program: "p", State: store.Running, Created: at, Updated: at, Lease: l}}
	t.ok(t.CreateRun(t.Context(), r.Run, store.Batch{Events: r.events(t, 1)}).Wait(t.Context()))
	r.Head = r.head
	return r
}

// events makes the next events.
func (r *driven) events(t *test, n int) (list []store.Event) {
	t.Helper()
	for range n {
		body := map[string]string{"text": fmt.Sprintf("event %d <ü>", counter.Add(1))}
		e, err := r.head.Next("test", time.Now(), body)
		t.ok(err)
		r.head = e.Head()
		list = append(list, e)
	}
	return list
}

// append keeps a batch.
func (t *test) append(l store.Lease, b store.Batch) error {
	t.Helper()
	return t.Append(t.Context(), l, b).Wait(t.Context())
}

// end ends a run.
func (t *test) end(r *driven, state store.State) {
	t.Helper()
	t.ok(t.append(r.Lease, store.Batch{State: &store.StateChange{State: state}}))
}

func (t *test) read(id session.ID) store.Run {
	t.Helper()
	r, err := t.Store.Run(t.Context(), id)
	t.ok(err)
	return r
}
