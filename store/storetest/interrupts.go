package storetest

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

var interruptRules = []rule{
	{"questions come back in their order", questionsComeBack},
	{"a question is decided once", decidedOnce},
	{"a question that ran out is not decided", expiredQuestion},
	{"one of many decides", decideContended},
}

func questionsComeBack(t *test) {
	r, other := t.start(), t.start()
	ask := func(run session.ID, key string, after time.Duration) store.Interrupt {
		i := store.Interrupt{Run: run, Key: key, Kind: "approval", Request: json.RawMessage(`{"tool":"` + key + `"}`), Asked: noon.Add(after), Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)}
		t.ok(t.Ask(t.Context(), i))
		return i
	}
	b := ask(r.ID, "b", time.Second)
	c := ask(other.ID, "c", 2*time.Second)
	a := ask(r.ID, "a", 3*time.Second)
	again := b
	again.Kind, again.Request = "other", json.RawMessage(`{}`)
	t.ok(t.Ask(t.Context(), again))
	bare := store.Interrupt{Run: other.ID, Key: "b", Kind: "input", Asked: noon.Add(time.Minute)} // the key is the run's own
	t.ok(t.Ask(t.Context(), bare))
	t.equal([]store.Interrupt{b, a}, all(t, t.Interrupts(t.Context(), r.ID)), "the questions of a run")
	t.equal([]store.Interrupt{b, c, a, bare}, all(t, t.Interrupts(t.Context(), session.ID{})), "the questions of all runs")
	for _, err := range t.Interrupts(t.Context(), session.ID{}) {
		t.ok(err)
		break
	}
	if n := len(all(t, t.Interrupts(t.Context(), session.New().ID()))); n != 0 {
		t.Errorf("an unknown run has %d questions", n)
	}
}

func decidedOnce(t *test) {
	r := t.start()
	i := store.Interrupt{Run: r.ID, Key: "k", Kind: "approval", Request: json.RawMessage(`{}`), Asked: noon}
	t.fails(t.Decide(t.Context(), r.ID, "k", json.RawMessage(`1`), "me"), store.ErrNotFound, "a question that nobody asked")
	t.fails(t.Decide(t.Context(), session.New().ID(), "k", json.RawMessage(`1`), "me"), store.ErrNotFound, "a question of an unknown run")
	t.ok(t.Ask(t.Context(), i))
	t.ok(t.Decide(t.Context(), r.ID, "k", json.RawMessage(`{"ok":true}`), "me"))
	t.fails(t.Decide(t.Context(), r.ID, "k", json.RawMessage(`{"ok":false}`), "you"), store.ErrDecided, "a second decision")
	t.ok(t.Ask(t.Context(), i)) // asked again after a restart, say
	got := all(t, t.Interrupts(t.Context(), r.ID))
	if len(got) != 1 || string(got[0].Decision) != `{"ok":true}` || got[0].By != "me" || got[0].Decided.IsZero() || got[0].Open(time.Now()) {
		t.Errorf("the decided question is %+v", got)
	}
}

func expiredQuestion(t *test) {
	r := t.start()
	t.ok(t.Ask(t.Context(), store.Interrupt{Run: r.ID, Key: "k", Asked: noon, Expires: time.Now().Add(-time.Second)}))
	t.fails(t.Decide(t.Context(), r.ID, "k", json.RawMessage(`1`), "me"), store.ErrExpired, "a question whose time is over")
	if got := all(t, t.Interrupts(t.Context(), r.ID)); len(got) != 1 || !got[0].Decided.IsZero() {
		t.Errorf("the question is %+v", got)
	}
}

func decideContended(t *test) {
	r := t.start()
	t.ok(t.Ask(t.Context(), store.Interrupt{Run: r.ID, Key: "k", Asked: noon}))
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = t.Decide(t.Context(), r.ID, "k", json.RawMessage(`1`), "me") })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			t.fails(err, store.ErrDecided, "who came too late")
		}
	}
	if won != 1 {
		t.Errorf("%d decided", won)
	}
}
