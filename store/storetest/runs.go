package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

var runRules = []rule{
	{"runs come back as they were", runsComeBack},
	{"a run is made once", runMadeOnce},
	{"unknown runs are not found", runNotFound},
	{"filters choose runs", runFilters},
	{"states are kept with their events", statesAreKept},
	{"a run can be asked to end", runCancelled},
}

func runsComeBack(t *test) {
	id, at := session.NewID()
	input := rich()
	full := store.Run{
		ID: id, Name: "review", Program: "d1", Spec: json.RawMessage(`{"a":1}`), Source: session.ID{1}, Input: input.ID(), Output: session.ID{2},
		State: store.Waiting, Error: "why", Created: at, Updated: at.Add(time.Second), Deadline: at.Add(time.Hour),
		Lease: store.Lease{Run: id, Owner: "me", Fence: 7, Expires: at.Add(time.Minute)}, Cancel: true,
	}
	bare := store.Run{ID: session.New().ID(), Name: "n", State: store.Queued, Created: at.Add(time.Second), Updated: at}
	d := &driven{}
	object := []byte(`{"an":"object"}`)
	t.ok(t.CreateRun(t.Context(), full, store.Batch{Events: d.events(t, 2), Objects: [][]byte{object}, Sessions: []session.Session{input}}).Wait(t.Context()))
	t.ok(t.CreateRun(t.Context(), bare, store.Batch{}).Wait(t.Context()))
	full.Head = d.head
	t.equal(full, t.read(id), "a run with everything")
	t.equal(bare, t.read(bare.ID), "a run with nothing")
	t.equal([]store.Run{full, bare}, all(t, t.Runs(t.Context(), store.RunFilter{})), "the runs")
	t.same(input, "a session in the first batch")
	if _, err := t.PutObject(t.Context(), object); err != nil {
		t.Error(err)
	}
	t.ok(t.append(full.Lease, store.Batch{Events: d.events(t, 1)})) // the lease that it came with holds
}

func runMadeOnce(t *test) {
	r := t.start()
	again := r.Run
	again.Name = "other"
	t.fails(t.CreateRun(t.Context(), again, store.Batch{Events: (&driven{}).events(t, 1)}).Wait(t.Context()), store.ErrExists, "a run made twice")
	t.equal(r.Run, t.read(r.ID), "the run that was there")
	wrong := (&driven{}).events(t, 2)[1:]
	id := session.New().ID()
	s := session.FromUser("x")
	if err := t.CreateRun(t.Context(), store.Run{ID: id, State: store.Queued}, store.Batch{Events: wrong, Sessions: []session.Session{s}}).Wait(t.Context()); err == nil {
		t.Error("a run was made with events that do not begin at 1")
	}
	_, err := t.Store.Run(t.Context(), id)
	t.fails(err, store.ErrNotFound, "a run whose batch failed")
	if t.has(s.ID()) {
		t.Error("a session of a batch that failed is kept")
	}
}

func runNotFound(t *test) {
	id := session.New().ID()
	_, err := t.Store.Run(t.Context(), id)
	t.fails(err, store.ErrNotFound, "Run")
	_, err = t.Acquire(t.Context(), id, "me", time.Hour, 0)
	t.fails(err, store.ErrNotFound, "Acquire")
	t.fails(t.CancelRun(t.Context(), id), store.ErrNotFound, "CancelRun")
	for r, err := range t.Runs(t.Context(), store.RunFilter{}) {
		t.Errorf("an empty store yields %v, %v", r, err)
	}
}

func runFilters(t *test) {
	var list []store.Run
	for i := range 24 {
		at := noon.Add(time.Duration(i) * time.Hour)
		r := store.Run{
			ID: mustID(fmt.Sprintf("01a1fd%02x-%04x-7000-8000-%012x", i/8, i, i)), Name: []string{"review", "draft", "rev"}[i%3],
			State: store.States[i%len(store.States)], Created: at, Updated: at.Add(time.Minute),
		}
		t.ok(t.CreateRun(t.Context(), r, store.Batch{}).Wait(t.Context()))
		list = append(list, r)
	}
	for name, f := range map[string]store.RunFilter{
		"everything": {}, "prefix": {Prefix: "01a1fd01-"}, "whole id": {Prefix: list[3].ID.String()}, "no id begins so": {Prefix: "e"}, "no hexadecimal": {Prefix: "x"},
		"name": {Name: "rev"}, "no such name": {Name: "re"}, "state": {States: []store.State{store.Waiting}}, "open": {States: store.States[:4]}, "ended": {States: store.States[4:]},
		"both": {States: []store.State{store.Running, store.Failed}}, "since": {Since: list[5].Created}, "until": {Until: list[5].Created}, "limit": {Limit: 5}, "newest": {Newest: true, Limit: 2},
		"all at once": {Prefix: "01a1fd", Name: "review", States: store.States[:6], Since: list[2].Created, Until: list[20].Created, Newest: true, Limit: 3},
	} {
		t.equal(chooseRuns(list, f), all(t, t.Runs(t.Context(), f)), name)
	}
	for _, err := range t.Runs(t.Context(), store.RunFilter{}) {
		t.ok(err)
		break
	}
}

// chooseRuns is what a filter means; the list is in the order of time.
func chooseRuns(list []store.Run, f store.RunFilter) (chosen []store.Run) {
	for _, r := range list {
		if strings.HasPrefix(r.ID.String(), f.Prefix) && (f.Name == "" || r.Name == f.Name) && (f.States == nil || slices.Contains(f.States, r.State)) &&
			(f.Since.IsZero() || !r.Created.Before(f.Since)) && (f.Until.IsZero() || r.Created.Before(f.Until)) {
			chosen = append(chosen, r)
		}
	}
	if f.Newest {
		slices.Reverse(chosen)
	}
	if f.Limit > 0 && len(chosen) > f.Limit {
		chosen = chosen[:f.Limit]
	}
	return chosen
}

func statesAreKept(t *test) {
	r := t.start()
	output := session.FromUser("done")
	for _, c := range []store.StateChange{
		{State: store.NeedsReview, Error: "who knows"},
		{State: store.Waiting, Output: output.ID()},
		{State: store.Running, Owner: "another name"},
		{State: store.Failed, Error: "it broke"},
	} {
		t.ok(t.append(r.Lease, store.Batch{Events: r.events(t, 1), Sessions: []session.Session{output}, State: &c}))
		got := t.read(r.ID)
		if got.State != c.State || got.Error != c.Error || got.Head != r.head {
			t.Errorf("after %+v the run is %+v", c, got)
		}
		if c.Owner != "" && got.Lease.Owner != c.Owner {
			t.Errorf("after %+v the owner is %q", c, got.Lease.Owner)
		}
		if got.Updated.Before(r.Updated) {
			t.Errorf("after %+v the run was updated at %v", c, got.Updated)
		}
		if c.State != store.NeedsReview && got.Output != output.ID() {
			t.Errorf("after %+v the output is %v: it is left unless another is given", c, got.Output)
		}
		if c.State.Ended() && got.Lease.Owner != "" {
			t.Errorf("a run that ended has the lease %+v", got.Lease)
		}
	}
	t.fails(t.append(r.Lease, store.Batch{Events: r.events(t, 1)}), store.ErrEndedRun, "Append to a run that ended")
	_, err := t.Acquire(t.Context(), r.ID, "me", time.Hour, 0)
	t.fails(err, store.ErrEndedRun, "Acquire of a run that ended")
	t.fails(t.CancelRun(t.Context(), r.ID), store.ErrEndedRun, "CancelRun of a run that ended")
	if _, err := t.Renew(t.Context(), r.Lease, time.Hour); err == nil {
		t.Error("the lease of a run that ended was renewed")
	}
}

func runCancelled(t *test) {
	r := t.start()
	cancel, err := t.Renew(t.Context(), r.Lease, time.Hour)
	if err != nil || cancel {
		t.Errorf("Renew of a run that nobody cancelled: %v, %v", cancel, err)
	}
	t.ok(t.CancelRun(t.Context(), r.ID))
	t.ok(t.CancelRun(t.Context(), r.ID))
	cancel, err = t.Renew(t.Context(), r.Lease, time.Hour)
	if err != nil || !cancel || !t.read(r.ID).Cancel {
		t.Errorf("Renew of a run that was cancelled: %v, %v", cancel, err)
	}
}

var leaseRules = []rule{
	{"a lease is taken once", leaseTakenOnce},
	{"a lease that ran out is taken", leaseRunsOut},
	{"a dead holder's lease is taken over", leaseOver},
	{"who lost the lease is refused", leaseLost},
	{"a lease that was given back is free", leaseReleased},
	{"one of many gets the lease", leaseContended},
}

func leaseTakenOnce(t *test) {
	id, at := session.NewID()
	t.ok(t.CreateRun(t.Context(), store.Run{ID: id, State: store.Queued, Created: at}, store.Batch{}).Wait(t.Context()))
	before := time.Now()
	r, err := t.Acquire(t.Context(), id, "a", time.Hour, 0)
	t.ok(err)
	l := r.Lease
	if l.Run != id || l.Owner != "a" || l.Fence <= 0 || !l.Held(before) || l.Expires.Before(before.Add(time.Hour-time.Second)) {
		t.Errorf("the lease is %+v", l)
	}
	t.equal(t.read(id), r, "Acquire returns the run with its lease")
	for _, owner := range []string{"a", "b"} {
		_, err := t.Acquire(t.Context(), id, owner, time.Hour, 0)
		t.fails(err, store.ErrLeased, "a lease that somebody holds, for "+owner)
		_, err = t.Acquire(t.Context(), id, owner, time.Hour, l.Fence+1)
		t.fails(err, store.ErrLeased, "a lease that somebody holds, over another fence, for "+owner)
	}
	zero := store.Run{ID: session.New().ID(), State: store.Running, Lease: store.Lease{Owner: "a", Expires: time.Now().Add(time.Hour)}}
	t.ok(t.CreateRun(t.Context(), zero, store.Batch{}).Wait(t.Context()))
	_, err = t.Acquire(t.Context(), zero.ID, "b", time.Hour, 0)
	t.fails(err, store.ErrLeased, "a lease whose fence is zero")
	t.ok(t.append(l, store.Batch{Events: (&driven{}).events(t, 1)}))
	if _, err := t.Renew(t.Context(), l, 2*time.Hour); err != nil || !t.read(id).Lease.Expires.After(l.Expires) {
		t.Errorf("the lease was not renewed: %v", err)
	}
}

func leaseRunsOut(t *test) {
	r := t.start()
	_, err := t.Renew(t.Context(), r.Lease, 0)
	t.ok(err)
	t.ok(t.append(r.Lease, store.Batch{Events: r.events(t, 1)})) // nobody took it yet
	next, err := t.Acquire(t.Context(), r.ID, "b", time.Hour, 0)
	t.ok(err)
	if next.Lease.Fence <= r.Lease.Fence {
		t.Errorf("the new fence %d is not above %d", next.Lease.Fence, r.Lease.Fence)
	}
	t.fails(t.append(r.Lease, store.Batch{Events: r.events(t, 1)}), store.ErrFenced, "Append of the old holder")
}

func leaseOver(t *test) {
	r := t.start()
	next, err := t.Acquire(t.Context(), r.ID, "b", time.Hour, r.Lease.Fence)
	t.ok(err)
	_, err = t.Acquire(t.Context(), r.ID, "c", time.Hour, r.Lease.Fence)
	t.fails(err, store.ErrLeased, "the second who takes over the same holder")
	t.equal(r.head, next.Head, "the head, as whoever takes over must know it")
}

func leaseLost(t *test) {
	r := t.start()
	next, err := t.Acquire(t.Context(), r.ID, "b", time.Hour, r.Lease.Fence)
	t.ok(err)
	lost := r.head
	s := session.FromUser("late")
	t.fails(t.append(r.Lease, store.Batch{Events: r.events(t, 1), Sessions: []session.Session{s}, State: &store.StateChange{State: store.Failed}}), store.ErrFenced, "Append")
	_, err = t.Renew(t.Context(), r.Lease, time.Hour)
	t.fails(err, store.ErrFenced, "Renew")
	t.ok(t.Release(t.Context(), r.Lease))
	t.fails(t.append(store.Lease{Run: r.ID, Owner: "x", Fence: next.Lease.Fence + 1}, store.Batch{}), store.ErrFenced, "Append with a fence that was never given")
	t.equal(next, t.read(r.ID), "the run, after what the old holder tried")
	if t.has(s.ID()) {
		t.Error("a session of a batch that was refused is kept")
	}
	r.head = lost
	t.ok(t.append(next.Lease, store.Batch{Events: r.events(t, 1)}))
}

func leaseReleased(t *test) {
	r := t.start()
	t.ok(t.Release(t.Context(), r.Lease))
	t.ok(t.Release(t.Context(), r.Lease))
	t.equal(store.Lease{}, t.read(r.ID).Lease, "the lease of a run that nobody drives")
	t.fails(t.append(r.Lease, store.Batch{Events: r.events(t, 1)}), store.ErrFenced, "Append after Release")
	next, err := t.Acquire(t.Context(), r.ID, "b", time.Hour, 0)
	t.ok(err)
	if next.Lease.Fence <= r.Lease.Fence {
		t.Errorf("the new fence %d is not above %d", next.Lease.Fence, r.Lease.Fence)
	}
	t.ok(t.Release(t.Context(), r.Lease)) // the old one's: it is lost
	t.ok(t.append(next.Lease, store.Batch{}))
}

func leaseContended(t *test) {
	r := t.start()
	t.ok(t.Release(t.Context(), r.Lease))
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = t.Acquire(t.Context(), r.ID, fmt.Sprint(i), time.Hour, 0) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			t.fails(err, store.ErrLeased, "who came too late")
		}
	}
	if won != 1 {
		t.Errorf("%d got the lease", won)
	}
}
