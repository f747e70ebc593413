package memorytest

import (
	"fmt"
	"strings"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// noteRules are those of notes one by one.
var noteRules = []rule{
	{"keeps notes", "that is what it is for", "", func(c check) {
		kept := c.put(driver.Replace, note(prefs.Join("a"), "likes tea\n"))
		if kept[0].URI != prefs.Join("a") || kept[0].Text != "likes tea\n" {
			c.broken("put returned %+v", kept[0])
		}
		c.holds(prefs.Join("a"), "likes tea\n")
		c.gone(prefs.Join("b"))
	}},
	{"replaces notes", "what was corrected must not come back", "", func(c check) {
		c.replace(string(prefs.Join("a")), "likes tea", string(prefs.Join("b")), "likes walks")
		c.replace(string(prefs.Join("a")), "likes coffee")
		c.holds(prefs.Join("a"), "likes coffee")
		c.holds(prefs.Join("b"), "likes walks")
	}},
	{"tells folders from notes", "a folder has no text", "", func(c check) {
		c.replace(string(prefs.Join("deep", "a")), "x")
		c.gone(prefs, prefs.Join("deep"), prefs.Join("deep", "a", "b"), prefs.Join("de"))
	}},
	{"keeps several notes in order", "the last word counts", "", func(c check) {
		a := prefs.Join("a")
		kept := c.put(driver.Replace, note(a, "one"), note(prefs.Join("b"), "two"), note(a, "three"))
		c.same([]driver.URI{a, prefs.Join("b"), a}, []driver.URI{kept[0].URI, kept[1].URI, kept[2].URI}, "the notes that were put")
		c.holds(a, "three")
		c.holds(prefs.Join("b"), "two")
	}},
	{"keeps any text", "notes are in all languages, and have code in them", "", func(c check) {
		for i, text := range []string{
			"\ufeffline\r\nline\ttab\u2028 \u00a0", "日本語のテキスト、中文文本 한국어", "e\u0301 é ﬁ İ ß ſ", "\U0001F9E0\u200d\U0001F525", "\x00 nul, \x1b escape",
			"'; DROP TABLE notes; --", `"quoted" 'single' %d {{x}} \`, "---\ntitle: x\n---\nbody", "null",
		} {
			uri := prefs.Join(fmt.Sprint("text-", i))
			c.put(driver.Replace, note(uri, text))
			c.holds(uri, text)
		}
	}},
	{"keeps the longest text", "a document's piece may be long", "", func(c check) {
		text := strings.Repeat("0123456789abcde\n", driver.MaxText/16)
		c.put(driver.Replace, note(prefs.Join("long"), text))
		if n := c.get(prefs.Join("long")); n.Text != text {
			c.broken("of %d bytes, %d came back", len(text), len(n.Text))
		}
	}},
	{"keeps any URI", "names are people's, in all languages", "", func(c check) {
		long := driver.URI("memory://user")
		for len(long)+driver.MaxSegment < driver.MaxURI {
			long = long.Join(strings.Repeat("s", driver.MaxSegment))
		}
		for _, uri := range []driver.URI{
			"memory://user/好み/コーヒー", "memory://user/with space/and \"quotes\" 'both'", "memory://user/%41%/_?#&=+~", "memory://user/-- x/*/[a]",
			"memory://user/\U0001F9E0", "memory://user/UPPER", "memory://user/upper", "memory://user/.hidden", "memory://user/a.md", long,
		} {
			c.put(driver.Replace, note(uri, "text of "+string(uri)))
			c.holds(uri, "text of "+string(uri))
		}
		c.holds("memory://user/upper", "text of memory://user/upper")
		c.gone("memory://user/Upper", "memory://user/%2Ehidden", "memory://user/A%")
	}},
	{"keeps a note beside a folder of its name", "paths are names, not directories", "", func(c check) {
		c.replace(string(prefs.Join("a")), "note", string(prefs.Join("a", "b")), "below")
		c.holds(prefs.Join("a"), "note")
		c.holds(prefs.Join("a", "b"), "below")
	}},
	{"keeps all fields", "what is known of a note is known later", "Metadata", func(c check) {
		id, _ := session.NewID()
		n := driver.Note{
			URI: docs.Join("x", "1"), Text: "text", Title: "Title", Context: "Part > Chapter", About: "user.city", Importance: 0.25,
			Trust: driver.TrustTool, Meta: map[string]string{"key": "value", "": "empty", "a.b \"c\"": "ünï"}, Replaces: docs.Join("x", "0"),
			Source:  driver.Source{Session: id, Chunk: 7, Origin: "notes.txt", SHA256: strings.Repeat("ab", 32)},
			Created: day(1), Time: day(2), Until: day(3),
		}
		c.same(n, c.put(driver.Replace, n)[0], "the note that was put")
		c.same(n, c.get(n.URI), "the note that is kept")
		bare := driver.Note{URI: n.URI, Text: "other", Time: day(4)}
		kept := c.put(driver.Replace, bare)[0]
		bare.Created = n.Created
		c.same(bare, kept, "the note in its place has only what it came with, and the time at which the first was kept")
		c.same(bare, c.get(n.URI), "the note that is kept in its place")
	}},
	{"dates notes", "age counts", "Metadata", func(c check) {
		n := c.put(driver.Replace, note(prefs.Join("a"), "x"))[0]
		if n.Created.IsZero() || n.Time.IsZero() || !n.Until.IsZero() {
			c.broken("a note without times has these: %v, %v, %v", n.Created, n.Time, n.Until)
		}
		c.same(n, c.get(n.URI), "the note that is kept")
	}},
	{"keeps all or nothing", "half of what was learned is wrong", "Atomic Merge", func(c check) {
		c.replace(string(prefs.Join("there")), "something else")
		_, err := c.s.Put(c.ctx, driver.Merge, note(prefs.Join("first"), "one"), note(prefs.Join("there"), "two"), note(prefs.Join("last"), "three"))
		c.is(err, driver.ErrExists, "put three notes, one of them where another is")
		c.gone(prefs.Join("first"), prefs.Join("last"))
		c.holds(prefs.Join("there"), "something else")
		if claims(c.s.Capabilities(), "Lexical") {
			c.finds(driver.Query{Text: "one two three"})
		}
	}},
	{"removes notes", "people want to be forgotten", "", func(c check) {
		c.replace(string(prefs.Join("a")), "x", string(prefs.Join("a", "b")), "y", string(prefs.Join("aa")), "z")
		if n, err := c.s.Remove(c.ctx, prefs.Join("a"), false); n != 1 || err != nil {
			c.broken("remove took %d notes, %v", n, err)
		}
		c.gone(prefs.Join("a"))
		c.holds(prefs.Join("a", "b"), "y")
		_, err := c.s.Remove(c.ctx, prefs.Join("a"), false)
		c.is(err, driver.ErrInvalid, "remove a folder as if it were a note")
		c.holds(prefs.Join("a", "b"), "y")
		_, err = c.s.Remove(c.ctx, prefs.Join("none"), false)
		c.is(err, driver.ErrNotFound, "remove what is not there")
		_, err = c.s.Remove(c.ctx, prefs.Join("none"), true)
		c.is(err, driver.ErrNotFound, "remove a folder that is not there")
	}},
	{"removes folders", "people want to be forgotten", "", func(c check) {
		c.replace(string(prefs.Join("a")), "1", string(prefs.Join("a", "b")), "2", string(prefs.Join("a", "c", "d")), "3",
			string(prefs.Join("a!")), "4", string(prefs.Join("a0")), "5", string(prefs.Join("aa", "b")), "6")
		if n, err := c.s.Remove(c.ctx, prefs.Join("a"), true); n != 3 || err != nil {
			c.broken("remove took %d notes of 3, %v", n, err)
		}
		c.gone(prefs.Join("a"), prefs.Join("a", "b"), prefs.Join("a", "c", "d"))
		c.same([]string{"a!", "a0", "aa/"}, c.list(prefs), "what is left")
	}},
	{"keeps again what was removed", "a removed note leaves nothing behind", "", func(c check) {
		c.replace(string(prefs.Join("a")), "old words")
		_, err := c.s.Remove(c.ctx, prefs.Join("a"), false)
		c.must(err, "remove")
		c.replace(string(prefs.Join("a")), "new")
		c.holds(prefs.Join("a"), "new")
	}},
}
