package local

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openrath-go/rath/memory/driver"
)

// inFolder is what List must give, made of all URIs there are.
func inFolder(all map[driver.URI]string, folder driver.URI) []driver.Entry {
	found := map[driver.URI]driver.Entry{}
	for uri, text := range all {
		rest, ok := strings.CutPrefix(string(uri), string(folder)+"/")
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		e := found[folder.Join(name)]
		e.URI = folder.Join(name)
		if deeper {
			e.Notes++
		} else {
			e.IsNote, e.Size, e.Abstract = true, len(text), text
		}
		found[e.URI] = e
	}
	var list []driver.Entry
	for _, uri := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[uri])
	}
	return list
}

// move is what Move must do.
func move(all map[driver.URI]string, from, to driver.URI) error {
	moved, there := map[driver.URI]string{}, false
	for uri, text := range all {
		there = there || uri.In(to)
		if uri.In(from) {
			moved[to+uri[len(from):]] = text
		}
	}
	switch {
	case len(moved) == 0:
		return driver.ErrNotFound
	case there:
		return driver.ErrExists
	}
	maps.DeleteFunc(all, func(uri driver.URI, _ string) bool { return uri.In(from) })
	maps.Copy(all, moved)
	return nil
}

// TestFolders compares folders with a model, after any notes were put, moved and removed.
func TestFolders(t *testing.T) {
	d := openDir(t, t.TempDir(), nil)
	const root driver.URI = "memory://user"
	name := rapid.SampledFrom([]string{"a", "A", "a!", "a0", "a b", "é", "語", "%", "_"})
	uri := rapid.Custom(func(t *rapid.T) driver.URI { return root.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "segments")...) })
	rapid.Check(t, func(t *rapid.T) {
		if _, err := d.Remove(t.Context(), root, true); err != nil && !errors.Is(err, driver.ErrNotFound) {
			t.Fatal(err)
		}
		all := map[driver.URI]string{}
		var notes []driver.Note
		for _, u := range rapid.SliceOfN(uri, 1, 20).Draw(t, "notes") {
			notes = append(notes, driver.Note{URI: u, Text: "note at " + string(u)})
			all[u] = "note at " + string(u)
		}
		if _, err := d.Put(t.Context(), driver.Replace, notes...); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			from, to := uri.Draw(t, "from"), uri.Draw(t, "to")
			if rapid.Bool().Draw(t, "remove") {
				n, _ := d.Remove(t.Context(), from, true)
				before := len(all)
				if maps.DeleteFunc(all, func(u driver.URI, _ string) bool { return u.In(from) }); before-len(all) != n {
					t.Errorf("%d notes were removed with %s, not %d", n, from, before-len(all))
				}
			} else if !to.In(from) {
				if err, want := d.Move(t.Context(), from, to), move(all, from, to); !errors.Is(err, want) {
					t.Errorf("move %s to %s: %v, want %v", from, to, err, want)
				}
			}
		}
		folders := map[driver.URI]bool{root: true}
		for u := range all {
			for ; u != driver.Root; u = u.Parent() {
				folders[u] = true
			}
		}
		for f := range folders {
			got, err := d.List(t.Context(), f)
			for i := range got {
				got[i].Time = at(1)
			}
			want := inFolder(all, f)
			for i := range want {
				want[i].Time = at(1)
			}
			if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (len(want) > 0 || f == root) {
				t.Errorf("%s: %v (-want +got)\n%s", f, err, diff)
			}
		}
	})
}
