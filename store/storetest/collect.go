package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

var collectRules = []rule{
	{"unreferenced objects are removed", collectObjects},
	{"old runs and sessions are removed", collectOld},
	{"what is shared is left", collectShared},
	{"what was removed can be kept again", keptAgain},
}

func (t *test) collect(c store.Collection) store.Collected {
	t.Helper()
	dry := c
	dry.DryRun = true
	counted, err := t.Collect(t.Context(), dry)
	t.ok(err)
	got, err := t.Collect(t.Context(), c)
	t.ok(err)
	t.equal(got, counted, "what a dry run counts")
	return got
}

func (t *test) object(text string) session.Digest {
	t.Helper()
	d, err := t.PutObject(t.Context(), []byte(text))
	t.ok(err)
	return d
}

func collectObjects(t *test) {
	r := t.start()
	loose, referred, named := t.object("loose"), t.object("referred"), t.object("named")
	spec := t.object("spec")
	id, at := session.NewID()
	t.ok(t.CreateRun(t.Context(), store.Run{ID: id, State: store.Queued, Created: at, Spec: json.RawMessage(`["` + spec.String() + `"]`)}, store.Batch{}).Wait(t.Context()))
	e1, err := r.head.Next("test", time.Now(), map[string]any{"value": map[string]string{"$object": referred.String()}})
	t.ok(err)
	e2, err := e1.Head().Next("test", time.Now(), "sha256-"+named.String()+".txt")
	t.ok(err)
	s := rich()
	large := []byte(strings.Repeat("large ", 1000))
	t.ok(t.append(r.Lease, store.Batch{Events: []store.Event{e1, e2}, Sessions: []session.Session{s}}))
	_, err = t.PutObject(t.Context(), large)
	t.ok(err)
	t.equal(store.Collected{Objects: 2, Bytes: int64(len("loose") + len(large))}, t.collect(store.Collection{}), "what was removed")
	if t.hasObject(loose) {
		t.Error("an object that nothing refers to is left")
	}
	for name, d := range map[string]session.Digest{"referred to": referred, "named in a text": named, "named in a run's spec": spec} {
		if !t.hasObject(d) {
			t.Errorf("an object that is %s was removed", name)
		}
	}
	t.same(s, "a session")
	t.equal(store.Collected{}, t.collect(store.Collection{}), "what was removed the second time")
}

// aged is a session made so many hours after noon.
func aged(hours int, text string, run string, parents ...session.Session) session.Session {
	r := session.FromUser(text).Record()
	r.Lineage.Time, r.Lineage.Run = noon.Add(time.Duration(hours)*time.Hour), run
	for _, p := range parents {
		r.Lineage.Parents = append(r.Lineage.Parents, session.Parent{ID: p.ID(), Role: session.RoleInput})
	}
	return session.Restore(r, parents...)
}

func collectOld(t *test) {
	old, open := t.start(), t.start()
	ancestor := aged(0, "ancestor", "")
	young := aged(48, "young", "", aged(1, "between", "", ancestor))
	alone := aged(1, "alone", "")
	ofOld, ofOpen := aged(1, "of the old run", old.ID.String()), aged(1, "of the open run", open.ID.String(), aged(0, "before it", ""))
	input, output, mentioned := aged(1, "input", ""), aged(1, "output", ""), aged(1, "mentioned", "")
	id, at := session.NewID()
	t.ok(t.CreateRun(t.Context(), store.Run{ID: id, State: store.Queued, Created: at, Input: input.ID(), Output: output.ID()}, store.Batch{}).Wait(t.Context()))
	e, err := open.head.Next(store.EventSession, time.Now(), store.SessionMade{ID: mentioned.ID()})
	t.ok(err)
	t.ok(t.append(open.Lease, store.Batch{Events: []store.Event{e}}))
	t.put(young, alone, ofOld, ofOpen, input, output, mentioned)
	object := t.object("of an old event")
	oe, err := old.head.Next("test", time.Now(), object.String())
	t.ok(err)
	t.ok(t.append(old.Lease, store.Batch{Events: []store.Event{oe}}))
	t.ok(t.Ask(t.Context(), store.Interrupt{Run: old.ID, Key: "k", Asked: noon}))
	t.end(old, store.Succeeded)

	t.equal(store.Collected{}, t.collect(store.Collection{Before: noon}), "nothing is older than everything")
	ended := t.read(old.ID).Updated
	later := t.start()
	for !t.read(later.ID).Updated.After(ended) { // the clock may be coarse
		t.ok(t.append(later.Lease, store.Batch{State: &store.StateChange{State: store.Waiting}}))
	}
	t.end(later, store.Failed)
	got := t.collect(store.Collection{Before: ended.Add(time.Microsecond)})
	if got.Runs != 1 || got.Events != 2 || got.Objects < 2 {
		t.Errorf("removed: %+v", got)
	}
	_, err = t.Store.Run(t.Context(), old.ID)
	t.fails(err, store.ErrNotFound, "a run that ended before")
	if n := len(all(t, t.Events(t.Context(), old.ID, 0))) + len(all(t, t.Interrupts(t.Context(), session.ID{}))); n != 0 {
		t.Errorf("%d events and questions of a run that was removed are left", n)
	}
	if t.read(later.ID).State != store.Failed {
		t.Error("a run that ended later has changed")
	}
	if t.hasObject(object) {
		t.Error("an object of a run that was removed is left")
	}
	for _, s := range []session.Session{ofOpen, input, output, mentioned, ofOpen.Parents()[0]} {
		t.same(s, "a session that a run comes from: "+s.Text())
	}
	for _, s := range []session.Session{alone, ofOld} {
		if t.has(s.ID()) {
			t.Errorf("left: %s", s.Text())
		}
	}
	if t.read(open.ID).State != store.Running || t.read(id).State != store.Queued {
		t.Error("a run that has not ended has changed")
	}
}

func collectShared(t *test) {
	old := aged(0, "shared", "")
	young := aged(48, "young", "", aged(1, "between", "", old))
	var gone []session.Session
	for i := range 5 {
		r := aged(i, "", "", old).Record()
		r.Content = old.Transcript().Append(session.User(session.Text(fmt.Sprint("only here ", i))), session.User(session.Text("young"))) // a chunk that is left
		gone = append(gone, session.Restore(r, old))
	}
	t.put(append(gone, young)...)
	got := t.collect(store.Collection{Before: noon.Add(24 * time.Hour)})
	t.equal([2]int{5, 5}, [2]int{got.Sessions, got.Objects}, "sessions and objects removed")
	for _, s := range []session.Session{young, young.Parents()[0], old} {
		t.same(s, "a session that a younger one comes from")
	}
	for _, s := range gone {
		if t.has(s.ID()) || t.hasObject(s.At(1).Digest()) {
			t.Error("an old session is left")
		}
	}
	more := young.Fork().Append(session.User())
	t.put(more)
	t.same(more, "a session kept after the collection")
}

func keptAgain(t *test) {
	old := aged(0, "root", "")
	child := aged(1, "child", "", old)
	t.put(child)
	if got := t.collect(store.Collection{Before: noon.Add(24 * time.Hour)}); got.Sessions != 2 {
		t.Errorf("removed: %+v", got)
	}
	grandchild := child.Append(session.User(session.Text("new")))
	t.put(grandchild)
	for _, s := range []session.Session{grandchild, child, old} {
		t.same(s, "kept again")
	}
}
