// Package memorytest checks that a memory driver keeps the rules which the portable
// [github.com/openrath-go/rath/memory.Store] and agents rely on. A driver's own tests call
// [Suite.Run].
//
// Next: [github.com/openrath-go/rath/llm/llmtest].
package memorytest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/openrath-go/rath/memory/driver"
)

// Suite is a driver.
type Suite struct {
	// Open opens a new and empty store. The suite closes it.
	Open func(t *testing.T) driver.Store
	// Advance moves on the clock of all stores that were opened. nil: rules about jobs that
	// are tried again later are skipped.
	Advance func(d time.Duration)
	// Patience is how long something that was kept may take until it is found; 0: 10 s.
	Patience time.Duration
}

// Run runs the rules. Those about what the driver does not claim in its Capabilities are
// skipped; what it claims it must do.
func (s Suite) Run(t *testing.T) {
	for _, rule := range rules() {
		t.Run(rule.name, func(t *testing.T) {
			store := s.Open(t)
			t.Cleanup(func() { _ = store.Close() }) // of the rule about closing: it is closed already
			for need := range strings.FieldsSeq(rule.needs) {
				if !claims(store.Capabilities(), need) {
					t.Skip("the driver does not claim " + need)
				}
			}
			rule.check(check{t, s, store, t.Context(), rule.because})
		})
	}
}

func rules() []rule {
	return slices.Concat(noteRules, mergeRules, folderRules, findRules, filterRules, parallelRules, lifeRules, archiveRules, jobRules, moreRules)
}

// claims reports whether a capability is claimed, by its name.
func claims(caps driver.Capabilities, name string) bool {
	return reflect.ValueOf(caps).FieldByName(name).Bool()
}

// rule is one promise of a store, and why it matters.
type rule struct {
	name    string
	because string
	needs   string // the capabilities that it is about, by their names in [driver.Capabilities]
	check   func(check)
}

// check is a rule at work on one store.
type check struct {
	*testing.T
	suite   Suite
	s       driver.Store
	ctx     context.Context
	because string
}

func (c check) broken(format string, args ...any) {
	c.Helper()
	c.Errorf(format+"\n\tthe rule: "+c.because, args...)
}

func (c check) must(err error, doing string) {
	c.Helper()
	if err != nil {
		c.Fatalf("%s: %v\n\tthe rule: %s", doing, err, c.because)
	}
}

func (c check) is(err, want error, doing string) {
	c.Helper()
	if !errors.Is(err, want) {
		c.broken("%s: got error %v, want one that is %q", doing, err, want)
	}
}

// The places where rules keep notes.
const (
	prefs driver.URI = "memory://user/memories/preferences"
	facts driver.URI = "memory://agent/memories/facts"
	docs  driver.URI = "memory://resources/docs"
)

func note(uri driver.URI, text string) driver.Note { return driver.Note{URI: uri, Text: text} }

// day is a time for notes.
func day(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

// put keeps notes and returns them as they are kept.
func (c check) put(mode driver.Mode, notes ...driver.Note) []driver.Note {
	c.Helper()
	kept, err := c.s.Put(c.ctx, mode, notes...)
	c.must(err, "put "+string(notes[0].URI))
	if len(kept) != len(notes) {
		c.Fatalf("%d notes were put, %d came back\n\tthe rule: %s", len(notes), len(kept), c.because)
	}
	return kept
}

// replace puts notes without anything but texts, given as URIs and texts in turn.
func (c check) replace(pairs ...string) {
	c.Helper()
	var notes []driver.Note
	for i := 0; i < len(pairs); i += 2 {
		notes = append(notes, note(driver.URI(pairs[i]), pairs[i+1]))
	}
	c.put(driver.Replace, notes...)
}

func (c check) get(uri driver.URI) driver.Note {
	c.Helper()
	n, err := c.s.Get(c.ctx, uri)
	c.must(err, "get "+string(uri))
	return n
}

// holds checks what a note's text is.
func (c check) holds(uri driver.URI, want string) {
	c.Helper()
	n, err := c.s.Get(c.ctx, uri)
	if err != nil || n.Text != want || n.URI != uri {
		c.broken("%s holds %.100q as %s, %v, want %.100q", uri, n.Text, n.URI, err, want)
	}
}

// gone checks that there is no note.
func (c check) gone(uris ...driver.URI) {
	c.Helper()
	for _, uri := range uris {
		n, err := c.s.Get(c.ctx, uri)
		if !errors.Is(err, driver.ErrNotFound) {
			c.broken("get %s: %.100q, %v, want an error that is %q", uri, n.Text, err, driver.ErrNotFound)
		}
	}
}

// same compares notes, or whatever has to do with them.
func (c check) same(want, got any, what string) {
	c.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		c.broken("%s (-want +got)\n%s", what, diff)
	}
}

// list names what is in a folder, folders with a slash at the end.
func (c check) list(folder driver.URI) []string {
	c.Helper()
	entries, err := c.s.List(c.ctx, folder)
	c.must(err, "list "+string(folder))
	var names []string
	for _, e := range entries {
		if e.IsNote {
			names = append(names, e.URI.Base())
		}
		if e.Notes != 0 {
			names = append(names, e.URI.Base()+"/")
		}
	}
	return names
}

// find asks once.
func (c check) find(q driver.Query) driver.Found {
	c.Helper()
	if q.Limit == 0 {
		q.Limit = 10
	}
	found, err := c.s.Find(c.ctx, q)
	c.must(err, "find "+q.Text)
	return found
}

// finds asks until it finds these notes, in any order, and nothing else. It asks for
// words, unless the query says otherwise.
func (c check) finds(q driver.Query, want ...driver.URI) driver.Found {
	c.Helper()
	slices.Sort(want)
	if q.Match == driver.MatchBest {
		q.Match = driver.MatchWords
	}
	patience := c.suite.Patience
	if patience == 0 {
		patience = 10 * time.Second
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		found := c.find(q)
		got := uris(found)
		slices.Sort(got)
		if slices.Equal(got, want) {
			return found
		}
		if time.Now().After(end) {
			c.Fatalf("%+v found %q, want %q\n\tthe rule: %s", q, got, want, c.because)
		}
	}
}

func uris(f driver.Found) (list []driver.URI) {
	for _, h := range f.Hits {
		list = append(list, h.URI)
	}
	return list
}
