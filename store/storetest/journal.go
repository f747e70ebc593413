package storetest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

var journalRules = []rule{
	{"events come back without gaps", eventsComeBack},
	{"events that do not follow are refused", eventsMustFollow},
	{"a batch is kept all or not at all", batchAllOrNone},
	{"batches are kept in the order of the calls", batchesInOrder},
	{"one that fails makes those after it fail", failureStays},
	{"an unknown run has no events", noEvents},
}

func eventsComeBack(t *test) {
	r, other := t.start(), t.start()
	want := all(t, t.Events(t.Context(), r.ID, 0))
	for n := range 20 {
		batch := r.events(t, n%4)
		want = append(want, batch...)
		t.ok(t.append(r.Lease, store.Batch{Events: batch}))
		t.ok(t.append(other.Lease, store.Batch{Events: other.events(t, 1)}))
	}
	for _, after := range []int64{0, 1, 2, r.head.Seq - 1, r.head.Seq, r.head.Seq + 1} {
		got := all(t, t.Events(t.Context(), r.ID, after))
		t.equal(want[min(int(after), len(want)):], append([]store.Event{}, got...), fmt.Sprintf("events after %d", after))
	}
	var head store.Head
	for _, e := range want {
		if !e.Follows(head) {
			t.Fatalf("event %d does not follow %d", e.Seq, head.Seq)
		}
		head = e.Head()
	}
	t.equal(head, t.read(r.ID).Head, "the head of the run is its last event")
	for _, err := range t.Events(t.Context(), r.ID, 0) {
		t.ok(err)
		break
	}
}

func eventsMustFollow(t *test) {
	r := t.start()
	good := r.events(t, 3)
	change := func(f func(*store.Event)) []store.Event {
		list := slices.Clone(good)
		f(&list[1])
		return list
	}
	for name, batch := range map[string][]store.Event{
		"a gap at the start":    good[1:],
		"a gap":                 {good[0], good[2]},
		"twice":                 {good[0], good[0]},
		"another order":         {good[1], good[0]},
		"another hash":          change(func(e *store.Event) { e.Hash[0]++ }),
		"another body":          change(func(e *store.Event) { e.Body = []byte(`{}`) }),
		"another kind":          change(func(e *store.Event) { e.Kind += "x" }),
		"another time":          change(func(e *store.Event) { e.Time = e.Time.Add(time.Microsecond) }),
		"another number":        change(func(e *store.Event) { e.Seq++ }),
		"the first once more":   (&driven{}).events(t, 1),
		"another chain's event": (&driven{}).events(t, 2)[1:],
	} {
		if err := t.append(r.Lease, store.Batch{Events: batch}); err == nil {
			t.Fatalf("%s: kept", name)
		}
		t.equal(r.Head, t.read(r.ID).Head, name+": the head")
	}
	t.ok(t.append(r.Lease, store.Batch{Events: good}))
}

func batchAllOrNone(t *test) {
	r := t.start()
	s := rich()
	object := []byte("something large")
	d := session.Digest(sha256.Sum256(object))
	batch := store.Batch{Events: r.events(t, 2), Objects: [][]byte{object, object}, Sessions: []session.Session{s}, State: &store.StateChange{State: store.Waiting, Output: s.ID()}}
	bad := batch
	bad.Events = batch.Events[1:]
	if err := t.append(r.Lease, bad); err == nil {
		t.Fatal("a batch with a gap was kept")
	}
	if t.has(s.ID()) || t.hasObject(d) || t.read(r.ID).State != store.Running {
		t.Error("something of a batch that failed is kept")
	}
	t.ok(t.append(r.Lease, batch))
	t.same(s, "a session of a batch")
	if got := t.read(r.ID); !t.hasObject(d) || got.State != store.Waiting || got.Output != s.ID() || got.Head != r.head {
		t.Errorf("something of a batch is missing: %+v", got)
	}
}

func batchesInOrder(t *test) {
	r := t.start()
	var commits []store.Commit
	for range 500 {
		commits = append(commits, t.Append(t.Context(), r.Lease, store.Batch{Events: r.events(t, 1)}))
	}
	for _, c := range commits {
		t.ok(c.Wait(t.Context()))
	}
	if n := len(all(t, t.Events(t.Context(), r.ID, 0))); n != 501 {
		t.Errorf("%d events are kept", n)
	}
}

func failureStays(t *test) {
	r, other := t.start(), t.start()
	r.events(t, 1) // is never kept
	var lost, kept []store.Commit
	for range 50 {
		lost = append(lost, t.Append(t.Context(), r.Lease, store.Batch{Events: r.events(t, 1)}))
		kept = append(kept, t.Append(t.Context(), other.Lease, store.Batch{Events: other.events(t, 1)}))
	}
	for i := range lost {
		if err := lost[i].Wait(t.Context()); err == nil {
			t.Error("an event was kept after one that was not")
		}
		t.ok(kept[i].Wait(t.Context())) // another run has no harm
	}
	t.equal(r.Head, t.read(r.ID).Head, "the head")
}

func noEvents(t *test) {
	id := session.New().ID()
	if n := len(all(t, t.Events(t.Context(), id, 0))); n != 0 {
		t.Errorf("%d events", n)
	}
	t.fails(t.append(store.Lease{Run: id, Fence: 1}, store.Batch{Events: (&driven{}).events(t, 1)}), store.ErrNotFound, "Append to an unknown run")
}
