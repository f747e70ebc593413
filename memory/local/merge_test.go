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
	} {
		t.Run(name, func(t *testing.T) {
			got := map[driver.URI]held{}
			for _, n := range merged(t, test.notes) {
				h := held{Time: n.Time.Day(), Replaces: n.Replaces}
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
