package tool

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// calls drives a table as the calls of many agents do: a call queues, names its locks,
// waits, makes calls of its own, and ends after them.
type calls struct {
	*rapid.T
	table table
	all   []*tableCall
	step  int
}

type tableCall struct {
	*ticket
	parent      *tableCall
	place       place
	begun       int // the step in which it queued
	named       int // the step in which its locks were named; 0: not yet
	held, ended bool
}

func (c *tableCall) granted() bool { return !c.ended && c.waiting == 0 }

// pick draws one of the calls that satisfy ok, nil if none does.
func (m *calls) pick(what string, ok func(*tableCall) bool) *tableCall {
	var from []*tableCall
	for _, c := range m.all {
		if ok(c) {
			from = append(from, c)
		}
	}
	if len(from) == 0 {
		return nil
	}
	return rapid.SampledFrom(from).Draw(m.T, what)
}

func (m *calls) busy(c *tableCall) bool {
	for _, d := range m.all {
		if d.parent == c && !d.ended {
			return true
		}
	}
	return false
}

func (m *calls) begin() {
	c := &tableCall{place: rapid.SampledFrom([]place{"w", "w/s", "v"}).Draw(m.T, "place"), begun: m.step}
	if rapid.Bool().Draw(m.T, "nested") {
		c.parent = m.pick("parent", func(c *tableCall) bool { return c.held && !c.ended })
	}
	locks := []Lock{c.place.naming()}
	if rapid.IntRange(0, 9).Draw(m.T, "unnamed") == 0 {
		locks, c.named = c.place.absolute(Everything()), m.step
	}
	var outer *ticket
	if c.parent != nil {
		outer = c.parent.ticket
	}
	k, err := m.table.add(outer, locks)
	m.refused(c, err)
	if err == nil {
		c.ticket = k
		m.all = append(m.all, c)
	}
}

// refused allows an error to calls within calls only.
func (m *calls) refused(c *tableCall, err error) {
	if err != nil && c.parent == nil {
		m.Fatalf("a call that is in no other was refused: %v", err)
	}
}

func (m *calls) name() bool {
	c := m.pick("name", func(c *tableCall) bool { return c.granted() && c.named == 0 })
	if c == nil {
		return false
	}
	lock := rapid.Custom(func(t *rapid.T) Lock {
		return Lock{rapid.SampledFrom([]string{"", "files", "files/a", "files/a/b", "files/s/a", "files/ab", "gpu"}).Draw(t, "resource"), rapid.Bool().Draw(t, "write")}
	})
	c.named = m.step
	err := m.table.extend(c.ticket, c.place.absolute(rapid.SliceOfN(lock, 1, 2).Draw(m.T, "locks")...))
	m.refused(c, err)
	if err != nil {
		m.release(c)
	}
	return true
}

func (m *calls) end() bool {
	c := m.pick("end", func(c *tableCall) bool { return c.granted() && c.named > 0 && !m.busy(c) })
	if c != nil {
		m.release(c)
	}
	return c != nil
}

func (m *calls) cancel() {
	if c := m.pick("cancel", func(c *tableCall) bool { return !c.ended && !m.busy(c) }); c != nil {
		m.release(c)
	}
}

func (m *calls) release(c *tableCall) {
	m.table.release(c.ticket)
	c.ended = true
}

func (m *calls) check() {
	for _, c := range m.all {
		if c.held || !c.granted() || c.named == 0 {
			continue
		}
		c.held = true
		for _, d := range m.all {
			if c.exclusive() && !d.ended && d.named > 0 && d.waiting > 0 && !d.exclusive() && c.conflicts(d.ticket) {
				m.Fatal("what file names lead to changes while a call waits that has named its locks")
			}
		}
	}
	for _, c := range m.all {
		for _, d := range m.all {
			if c == d || c.ended || d.ended || c.waiting > 0 || !c.conflicts(d.ticket) {
				continue
			}
			if d.waiting == 0 && !c.inside(d.ticket) && !d.inside(c.ticket) {
				m.Fatalf("%v and %v are held at once", c.locks, d.locks)
			}
			if c.named > 0 && c.parent == d.parent && 0 < d.named && d.named < c.begun {
				m.Fatalf("%v came before %v, which is held first", d.locks, c.locks)
			}
		}
	}
}

// Whatever the locks: tickets that conflict are never held together, unless one call is
// within the other; those of one caller are served in their order; nothing changes where
// names lead between the naming of a call's locks and the call; all are served.
func TestTableProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &calls{T: t}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			m.step++
			switch rapid.IntRange(0, 9).Draw(t, "action") {
			case 0, 1, 2, 3:
				m.begin()
			case 4, 5, 6:
				m.name()
			case 7, 8:
				m.end()
			case 9:
				m.cancel()
			}
			m.check()
		}
		for m.step++; m.name() || m.end(); m.step++ {
			m.check()
		}
		if len(m.table.live) > 0 {
			t.Fatalf("deadlock: %d tickets are left", len(m.table.live))
		}
	})
}

// Every way in which a call within a call can, or cannot, have its locks.
func TestNestedTickets(t *testing.T) {
	const w, v = place("w"), place("v")
	a, b := w.absolute(WriteFile("a")), w.absolute(WriteFile("b"))
	all := func(p place) []Lock { return p.absolute(Everything()) }
	part := func(l []Lock) []Lock { return append([]Lock{w.naming()}, l...) }
	for _, test := range []struct {
		name         string
		outer, other []Lock // two calls that run, or wait
		first        []Lock // made within other; nil: none
		second       []Lock // made within outer, after that
		want         error
		waits        bool
	}{
		{"within what the outer call holds", all(w), nil, nil, a, nil, false},
		{"ahead of one that waits for the outer call", all(w), a, nil, b, nil, false},
		{"behind a stranger", a, b, nil, b, nil, true},
		{"another place", all(w), all(v), nil, all(v), nil, true},
		{"crosswise", a, b, a, b, errDeadlock, false},
		{"crosswise places", all(w), all(v), all(w), all(v), errDeadlock, false},
		{"everything within a part", part(a), nil, nil, all(w), errWidens, false},
		{"everything elsewhere", part(a), nil, nil, all(v), nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var tb table
			add := func(parent *ticket, locks []Lock) *ticket {
				k, err := tb.add(parent, locks)
				if err != nil {
					t.Fatal(err)
				}
				return k
			}
			outer := add(nil, test.outer)
			other := add(nil, test.other)
			if test.first != nil {
				add(other, test.first)
			}
			k, err := tb.add(outer, test.second)
			if !errors.Is(err, test.want) || err == nil && k.waiting > 0 != test.waits {
				t.Errorf("%v, %+v", err, k)
			}
		})
	}
}

// A call that was queued behind one that is cancelled still waits for those that it
// conflicts with, also for one that came later, from within a call.
func TestCancelledTicket(t *testing.T) {
	var tb table
	add := func(parent *ticket, files ...string) *ticket {
		var locks []Lock
		for _, f := range files {
			locks = append(locks, WriteFile(f))
		}
		k, err := tb.add(parent, place("w").absolute(locks...))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	outer := add(nil, "a")
	between := add(nil, "a", "b")
	last := add(nil, "b")
	inner := add(outer, "b")
	tb.release(between)
	if inner.waiting > 0 || last.waiting == 0 {
		t.Errorf("the inner call waits for %d, the last for %d", inner.waiting, last.waiting)
	}
	tb.release(inner)
	if last.waiting > 0 {
		t.Error("the last call is not served")
	}
}

func TestAbsolute(t *testing.T) {
	tree := func(write bool, p string) []Lock {
		return []Lock{{"files/" + p, write}, {"names/" + p, write}, {"other/" + p, write}}
	}
	for _, test := range []struct {
		place place
		lock  Lock
		want  []Lock
	}{
		{"local:/w", Everything(), tree(true, "local:/w")},
		{"local:/w", Lock{}, tree(false, "local:/w")},
		{"local:/", Everything(), tree(true, "local:")},
		{"local:/w", WriteFile("a/b"), []Lock{{"files/local:/w/a/b", true}}},
		{"local:/w", ReadFile("."), []Lock{{"files/local:/w", false}}},
		{"local:/w", Lock{"filesystem", true}, []Lock{{"other/local:/w/filesystem", true}}},
		{"local:C:/w", Lock{"gpu/0", true}, []Lock{{"other/local:C:/w/gpu/0", true}}},
	} {
		if diff := cmp.Diff(test.want, test.place.absolute(test.lock)); diff != "" {
			t.Errorf("%s %v: %s", test.place, test.lock, diff)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, test := range []struct {
		a, b Lock
		want bool
	}{
		{ReadFile("a"), ReadFile("a"), false},
		{ReadFile("a"), WriteFile("a"), true},
		{WriteFile("a"), ReadFile("a/b"), true},
		{WriteFile("ab"), WriteFile("a"), false},
		{WriteFile("."), ReadFile("x/y"), true},
		{Everything(), Lock{Resource: "gpu"}, true},
	} {
		if got := test.a.conflicts(test.b); got != test.want || test.b.conflicts(test.a) != test.want {
			t.Errorf("%v and %v: %v", test.a, test.b, got)
		}
	}
}
