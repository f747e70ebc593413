package memorytest

import (
	"fmt"

	"github.com/openrath-go/rath/memory/driver"
)

// filterRules are those of what is not wanted in an answer.
var filterRules = []rule{
	{"filters by metadata", "notes of one project are asked for", "Lexical Filter Metadata", func(c check) {
		for name, meta := range map[string]map[string]string{
			"a": {"project": "x", "lang": "go"}, "b": {"project": "x"}, "c": {"project": "y", "lang": "go"}, "d": nil, "e": {`odd."key`: "x'y"},
		} {
			c.put(driver.Replace, driver.Note{URI: prefs.Join(name), Text: "tea", Meta: meta})
		}
		ask := func(meta map[string]string, want ...driver.URI) {
			c.Helper()
			c.finds(driver.Query{Text: "tea", Meta: meta}, want...)
		}
		ask(map[string]string{"project": "x"}, prefs.Join("a"), prefs.Join("b"))
		ask(map[string]string{"project": "x", "lang": "go"}, prefs.Join("a"))
		ask(map[string]string{`odd."key`: "x'y"}, prefs.Join("e"))
		ask(map[string]string{"project": "X"})
		ask(map[string]string{"none": ""})
	}},
	{"filters by trust", "not everything is to be relied on", "Lexical Filter Metadata", func(c check) {
		for name, trust := range map[string]driver.Trust{"a": driver.TrustUser, "b": driver.TrustTool, "c": driver.TrustUnknown} {
			c.put(driver.Replace, driver.Note{URI: prefs.Join(name), Text: "tea", Trust: trust})
		}
		c.finds(driver.Query{Text: "tea", Trust: []driver.Trust{driver.TrustUser}}, prefs.Join("a"))
		c.finds(driver.Query{Text: "tea", Trust: []driver.Trust{driver.TrustUser, driver.TrustTool, driver.TrustAgent}}, prefs.Join("a"), prefs.Join("b"))
		c.finds(driver.Query{Text: "tea", Trust: []driver.Trust{driver.TrustUnknown}}, prefs.Join("c"))
		c.finds(driver.Query{Text: "tea", Trust: []driver.Trust{driver.TrustResource}})
	}},
	{"filters by time", "what was said last week is asked for", "Lexical Filter Metadata", func(c check) {
		for i := 1; i <= 4; i++ {
			c.put(driver.Replace, driver.Note{URI: prefs.Join(fmt.Sprint(i)), Text: "tea", Time: day(i)})
		}
		c.finds(driver.Query{Text: "tea", Since: day(3)}, prefs.Join("3"), prefs.Join("4"))
		c.finds(driver.Query{Text: "tea", Until: day(3)}, prefs.Join("1"), prefs.Join("2"))
		c.finds(driver.Query{Text: "tea", Since: day(2), Until: day(3)}, prefs.Join("2"))
	}},
	{"leaves out what has ended", "what was true once misleads", "Lexical Filter Metadata Merge", func(c check) {
		c.put(driver.Merge, driver.Note{URI: prefs.Join("a"), Text: "lives in Berlin", About: "user.city", Time: day(1)})
		c.put(driver.Merge, driver.Note{URI: prefs.Join("b"), Text: "lives in Paris", About: "user.city", Time: day(2)})
		c.finds(driver.Query{Text: "lives"}, prefs.Join("b"))
		c.finds(driver.Query{Text: "lives", Ended: true}, prefs.Join("a"), prefs.Join("b"))
		c.finds(driver.Query{Text: "Berlin"})
	}},
	{"tells the fields of what it found", "an agent is told who said it and when", "Lexical Metadata", func(c check) {
		n := c.put(driver.Replace, driver.Note{URI: prefs.Join("a"), Text: "tea", Title: "t", Trust: driver.TrustTool, Importance: 0.7, Meta: map[string]string{"k": "v"}, Time: day(2), Source: driver.Source{Chunk: 4}})[0]
		h := c.finds(driver.Query{Text: "tea"}, n.URI).Hits[0]
		n.Text = ""
		c.same(n, h.Note, "the note that was found")
	}},
	{"finds the newest without words", "an agent begins with what is new", "Lexical Filter Metadata", func(c check) {
		for i := 1; i <= 5; i++ {
			c.put(driver.Replace, driver.Note{URI: prefs.Join(fmt.Sprint(i)), Text: fmt.Sprint("note ", i), Time: day(i * 3 % 7)}) // 3 6 2 5 1
		}
		c.put(driver.Replace, driver.Note{URI: docs.Join("x"), Text: "elsewhere", Time: day(9)})
		found := c.find(driver.Query{Under: []driver.URI{prefs}, Limit: 3})
		c.same([]driver.URI{prefs.Join("2"), prefs.Join("4"), prefs.Join("1")}, uris(found), "the newest three")
	}},
}
