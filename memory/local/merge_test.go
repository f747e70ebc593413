package local

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openrath-go/rath/memory/driver"
)

func at(day int) time.Time { return time.Date(2026, 2, day, 0, 0, 0, 0, time.UTC) }

func TestMerge(t *testing.T) {
	type held struct {
		Time, Until int // days
		Replaces    driver.URI
		Trust       driver.Trust
	}
	said := func(name, text string, day int, by driver.Trust) driver.Note {
		return driver.Note{URI: driver.URI("memory://user/" + name), Text: text, About: "city", Time: at(day), Trust: by}
	}
	for name, test := range map[string]struct {
		notes []driver.Note
		want  map[driver.URI]held
	}{
		"the same by another name": {[]driver.Note{
			{URI: "memory://user/a", Text: "Likes tea.", Time: at(1)}, {URI: "memory://user/b", Text: "likes TEA", Time: at(2)},
		}, map[driver.URI]held{"memory://user/a": {Time: 2}}},
		"the same in another folder": {[]driver.Note{
			{URI: "memory://user/a", Text: "Likes tea.", Time: at(1)}, {URI: "memory://user/x/b", Text: "likes tea", Time: at(2)},
		}, map[driver.URI]held{"memory://user/a": {Time: 1}, "memory://user/x/b": {Time: 2}}},
		"the same about something else": {[]driver.Note{
			{URI: "memory://user/a", Text: "Berlin", About: "city", Time: at(1)}, {URI: "memory://user/b", Text: "Berlin", About: "birthplace", Time: at(2)},
		}, map[driver.URI]held{"memory://user/a": {Time: 1}, "memory://user/b": {Time: 2}}},
		"learned late": {[]driver.Note{
			{URI: "memory://user/a", Text: "Berlin", About: "city", Time: at(5)}, {URI: "memory://user/b", Text: "Paris", About: "city", Time: at(3)},
		}, map[driver.URI]held{"memory://user/a": {Time: 5}, "memory://user/b": {Time: 3, Until: 5}}},
		"learned between": {[]driver.Note{
			{URI: "memory://user/a", Text: "Berlin", About: "city", Time: at(1)}, {URI: "memory://user/b", Text: "Rome", About: "city", Time: at(5)},
			{URI: "memory://user/c", Text: "Paris", About: "city", Time: at(3)},
		}, map[driver.URI]held{
			"memory://user/a": {Time: 1, Until: 5}, "memory://user/b": {Time: 5, Replaces: "memory://user/a"}, "memory://user/c": {Time: 3, Until: 5},
		}},
		"said again before it ended": {[]driver.Note{
			{URI: "memory://user/a", Text: "Berlin", About: "city", Time: at(1)}, {URI: "memory://user/b", Text: "Rome", About: "city", Time: at(5)},
			{URI: "memory://user/a", Text: "berlin", About: "city", Time: at(3)},
		}, map[driver.URI]held{"memory://user/a": {Time: 3, Until: 5}, "memory://user/b": {Time: 5, Replaces: "memory://user/a"}}},
		"said with its end": {[]driver.Note{
			{URI: "memory://user/a", Text: "Berlin", About: "city", Time: at(1)}, {URI: "memory://user/b", Text: "Rome", About: "city", Time: at(2), Until: at(4)},
		}, map[driver.URI]held{"memory://user/a": {Time: 1}, "memory://user/b": {Time: 2, Until: 4}}},
		"a tool says otherwise": {[]driver.Note{
			said("a", "Berlin", 1, driver.TrustUser), said("b", "Rome", 2, driver.TrustTool),
		}, map[driver.URI]held{"memory://user/a": {Time: 1, Trust: driver.TrustUser}, "memory://user/b": {Time: 2, Trust: driver.TrustTool}}},
		"a tool has said otherwise, and later": {[]driver.Note{
			said("a", "Rome", 2, driver.TrustTool), said("b", "Berlin", 1, driver.TrustUser),
		}, map[driver.URI]held{"memory://user/a": {Time: 2, Trust: driver.TrustTool}, "memory://user/b": {Time: 1, Trust: driver.TrustUser}}},
		"a user corrects a tool": {[]driver.Note{
			said("a", "Rome", 1, driver.TrustTool), said("b", "Berlin", 2, driver.TrustUser),
		}, map[driver.URI]held{"memory://user/a": {Time: 1, Until: 2, Trust: driver.TrustTool}, "memory://user/b": {Time: 2, Replaces: "memory://user/a", Trust: driver.TrustUser}}},
		"a tool says what the user no longer does": {[]driver.Note{
			said("a", "Berlin", 1, driver.TrustUser), said("b", "Rome", 2, driver.TrustUser), said("a", "berlin", 3, driver.TrustTool),
		}, map[driver.URI]held{"memory://user/a": {Time: 1, Until: 2, Trust: driver.TrustUser}, "memory://user/b": {Time: 2, Replaces: "memory://user/a", Trust: driver.TrustUser}}},
		"an agent repeats a tool": {[]driver.Note{
			said("a", "Berlin", 1, driver.TrustAgent), said("b", "Rome", 2, driver.TrustTool), said("b", "rome", 3, driver.TrustAgent),
		}, map[driver.URI]held{"memory://user/a": {Time: 1, Trust: driver.TrustAgent}, "memory://user/b": {Time: 3, Trust: driver.TrustTool}}},
		"told again after it was replaced at once": {[]driver.Note{
			said("a", "Berlin", 1, ""), said("b", "Rome", 1, ""), said("a", "Berlin", 1, ""),
		}, map[driver.URI]held{"memory://user/a": {Time: 1, Until: 1}, "memory://user/b": {Time: 1, Replaces: "memory://user/a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[driver.URI]held{}
			for _, n := range merged(t, test.notes) {
				h := held{Time: n.Time.Day(), Replaces: n.Replaces, Trust: n.Trust}
				if !n.Until.IsZero() {
					h.Until = n.Until.Day()
				}
				got[n.URI] = h
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// merged puts notes one after the other, and returns those that there are then.
func merged(t *testing.T, notes []driver.Note) (there []driver.Note) {
	t.Helper()
	d := openDir(t, t.TempDir(), nil)
	for _, n := range notes {
		kept, err := d.Put(t.Context(), driver.Merge, n)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := d.Get(t.Context(), kept[0].URI); err != nil || !cmp.Equal(kept[0], again) {
			t.Errorf("returned %+v, kept %+v, %v", kept[0], again, err)
		}
	}
	for _, n := range notes {
		if n, err := d.Get(t.Context(), n.URI); err == nil {
			there = append(there, n)
		}
	}
	return there
}

func TestReplacesFollowsAMove(t *testing.T) {
	d := openDir(t, t.TempDir(), nil)
	_, err := d.Put(t.Context(), driver.Merge,
		driver.Note{URI: "memory://user/f/a", Text: "Berlin", About: "city"}, driver.Note{URI: "memory://user/f/b", Text: "Rome", About: "city"})
	if err == nil {
		err = d.Move(t.Context(), "memory://user/f", "memory://user/g")
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := d.Get(t.Context(), "memory://user/g/b"); err != nil || n.Replaces != "memory://user/g/a" {
		t.Errorf("it replaces %s, %v", n.Replaces, err)
	}
}

// What was said while the clock was ahead does not outlive what is said since.
func TestMergeWhenTheClockWasPutBack(t *testing.T) {
	c := newClock()
	d := openDir(t, t.TempDir(), &Options{Now: c.now})
	say := func(text string) driver.Note {
		t.Helper()
		kept, err := d.Put(t.Context(), driver.Merge, driver.Note{URI: driver.URI("memory://user/" + text), Text: text, About: "city", Time: c.now()})
		if err != nil {
			t.Fatal(err)
		}
		return kept[0]
	}
	c.advance(time.Hour)
	say("Lisbon")
	c.advance(-time.Hour)
	if n := say("Porto"); !n.Until.IsZero() || n.Replaces != "memory://user/Lisbon" {
		t.Errorf("what is said now is %+v", n)
	}
	if n, err := d.Get(t.Context(), "memory://user/Lisbon"); err != nil || n.Until.IsZero() || n.Until.Before(n.Time) {
		t.Errorf("what was said before is %+v, %v", n, err)
	}
	c.advance(time.Minute)
	if n := say("Faro"); !n.Until.IsZero() || n.Replaces != "memory://user/Porto" {
		t.Errorf("what is said then is %+v", n)
	}
}
