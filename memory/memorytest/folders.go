package memorytest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openrath-go/rath/memory/driver"
)

// folderRules are those of folders.
var folderRules = []rule{
	{"lists folders", "people look around", "", func(c check) {
		for _, name := range []string{"b", "a/1", "a/2", "a", "a!", "c/d/e", "c/d/f", "z z", "ä", "B"} {
			c.put(driver.Replace, note(docs.Join(name), "text of "+name))
		}
		entries, err := c.s.List(c.ctx, docs)
		c.must(err, "list")
		if !slices.IsSortedFunc(entries, func(a, b driver.Entry) int { return strings.Compare(string(a.URI), string(b.URI)) }) {
			c.broken("not in order: %+v", entries)
		}
		c.same([]string{"B", "a", "a/", "a!", "b", "c/", "z z", "ä"}, c.list(docs), "what is there")
		for _, e := range entries {
			notes := map[string]int{"a": 2, "c": 2}[e.URI.Base()]
			if e.Notes != notes && e.Notes != -1 {
				c.broken("%s has %d notes in it, not %d", e.URI, notes, e.Notes)
			}
			if e.IsNote && e.Size != len("text of ")+len(e.URI.Base()) {
				c.broken("%s has %d bytes", e.URI, e.Size)
			}
		}
		c.same([]string{"d/"}, c.list(docs.Join("c")), "what is below")
		c.same([]string{"e", "f"}, c.list(docs.Join("c", "d")), "what is further below")
	}},
	{"lists the root and its scopes", "people begin to look there", "", func(c check) {
		c.same([]string(nil), c.list("memory://user"), "an empty scope")
		c.replace(string(prefs.Join("a")), "x", string(docs.Join("b")), "y")
		for _, scope := range []string{"user/", "resources/"} {
			if names := c.list(driver.Root); !slices.Contains(names, scope) {
				c.broken("the root has %q in it, not %s", names, scope)
			}
		}
		c.same([]string{"memories/"}, c.list("memory://user"), "a scope")
		c.same([]string(nil), c.list("memory://session"), "an empty scope beside others")
	}},
	{"lists no folder that is not there", "a mistake in a name must be seen", "", func(c check) {
		c.replace(string(prefs.Join("a")), "x")
		for _, uri := range []driver.URI{prefs.Join("a"), prefs.Join("b"), "memory://user/memo", "memory://user/memories/preferences0"} {
			entries, err := c.s.List(c.ctx, uri)
			if len(entries) > 0 {
				c.broken("%s has %+v in it", uri, entries)
			}
			c.is(err, driver.ErrNotFound, "list "+string(uri))
		}
	}},
	{"has no empty folders", "folders are what paths make", "", func(c check) {
		c.replace(string(prefs.Join("deep", "a")), "x")
		_, err := c.s.Remove(c.ctx, prefs.Join("deep", "a"), false)
		c.must(err, "remove")
		_, err = c.s.List(c.ctx, prefs.Join("deep"))
		c.is(err, driver.ErrNotFound, "list a folder whose last note was removed")
	}},
	{"lists large folders", "a library is one folder", "", func(c check) {
		var notes []driver.Note
		var want []string
		for i := range 700 {
			name := fmt.Sprintf("%04d", i)
			notes, want = append(notes, note(docs.Join(name), name)), append(want, name)
			if i%100 == 0 {
				notes, want = append(notes, note(docs.Join(name, "below"), name)), append(want, name+"/")
			}
		}
		c.put(driver.Replace, notes...)
		c.same(want, c.list(docs), "what is there")
	}},
	{"moves a note", "people tidy up", "Move", func(c check) {
		c.replace(string(prefs.Join("a")), "likes tea", string(prefs.Join("a2")), "other")
		c.must(c.s.Move(c.ctx, prefs.Join("a"), facts.Join("deep", "b")), "move")
		c.gone(prefs.Join("a"))
		c.holds(facts.Join("deep", "b"), "likes tea")
		c.holds(prefs.Join("a2"), "other")
		if claims(c.s.Capabilities(), "Lexical") {
			c.finds(driver.Query{Text: "tea"}, facts.Join("deep", "b"))
		}
	}},
	{"moves a folder", "people tidy up", "Move", func(c check) {
		from, to := prefs.Join("ä", "x"), prefs.Join("y")
		c.replace(string(from), "0", string(from.Join("1")), "1", string(from.Join("2", "3")), "2", string(from)+"0", "stays", string(from)+"!", "stays")
		c.must(c.s.Move(c.ctx, from, to), "move")
		c.holds(to, "0")
		c.holds(to.Join("1"), "1")
		c.holds(to.Join("2", "3"), "2")
		c.same([]string{"x!", "x0"}, c.list(prefs.Join("ä")), "what is left")
		c.gone(from, from.Join("1"), from.Join("2", "3"))
	}},
	{"keeps a moved note as it was", "a place is not what is said", "Move Metadata", func(c check) {
		old := c.put(driver.Replace, driver.Note{URI: prefs.Join("a"), Text: "x", About: "y", Meta: map[string]string{"k": "v"}, Time: day(3), Created: day(1)})[0]
		c.must(c.s.Move(c.ctx, old.URI, prefs.Join("b")), "move")
		old.URI = prefs.Join("b")
		c.same(old, c.get(old.URI), "the note")
	}},
	{"moves nothing onto something", "what is kept must not vanish by chance", "Move", func(c check) {
		c.replace(string(prefs.Join("a")), "1", string(prefs.Join("b")), "2", string(prefs.Join("f", "c")), "3", string(prefs.Join("g", "d")), "4")
		for _, move := range [][2]string{{"a", "b"}, {"f", "g"}, {"f", "b"}, {"f/c", "f"}} {
			err := c.s.Move(c.ctx, prefs.Join(move[0]), prefs.Join(move[1]))
			c.is(err, driver.ErrExists, "move "+move[0]+" to "+move[1])
		}
		c.same([]string{"a", "b", "f/", "g/"}, c.list(prefs), "what is there")
		c.is(c.s.Move(c.ctx, prefs.Join("none"), prefs.Join("new")), driver.ErrNotFound, "move what is not there")
	}},
	{"moves no folder into itself", "it would be nowhere", "Move", func(c check) {
		c.replace(string(prefs.Join("f", "c")), "3")
		for _, to := range []driver.URI{prefs.Join("f"), prefs.Join("f", "g"), prefs.Join("f", "c", "d")} {
			c.is(c.s.Move(c.ctx, prefs.Join("f"), to), driver.ErrInvalid, "move to "+string(to))
		}
		c.holds(prefs.Join("f", "c"), "3")
	}},
}
