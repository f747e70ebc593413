package memorytest

import (
	"errors"
	"time"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// moreRules are those of what only some drivers have.
var moreRules = []rule{
	{"keeps the files that are not notes", "a directory is written again as it was", "", func(c check) {
		x, ok := c.s.(driver.Extras)
		if !ok {
			c.Skip("the driver is no driver.Extras")
		}
		want := [][2]string{{"a/b.vec", "\x00\xff"}, {"empty", ""}, {"meta.json", "{}"}, {"ä ö", "x"}}
		for _, i := range []int{3, 1, 0, 2} {
			c.must(x.PutExtra(c.ctx, want[i][0], []byte(want[i][1]+"old")), "put an extra")
			c.must(x.PutExtra(c.ctx, want[i][0], []byte(want[i][1])), "put it again")
		}
		c.must(x.PutExtra(c.ctx, "empty", nil), "put an empty one")
		var got [][2]string
		c.must(x.EachExtra(c.ctx, func(name string, data []byte) error {
			got = append(got, [2]string{name, string(data)})
			_, err := c.s.List(c.ctx, driver.Root) // who reads may read
			return err
		}), "read extras")
		c.same(want, got, "the extras")
		enough := errors.New("enough")
		c.is(x.EachExtra(c.ctx, func(string, []byte) error { return enough }), enough, "stop reading extras")
		c.same(0, len(c.list("memory://user")), "notes beside extras")
	}},
	{"counts", "people ask how much there is", "", func(c check) {
		k, ok := c.s.(driver.Counter)
		if !ok {
			c.Skip("the driver is no driver.Counter")
		}
		c.replace(string(prefs.Join("a")), "x", string(prefs.Join("b")), "y", string(docs.Join("c")), "z")
		ended := 0
		if claims(c.s.Capabilities(), "Merge") && claims(c.s.Capabilities(), "Metadata") {
			c.put(driver.Merge, driver.Note{URI: facts.Join("1"), Text: "one", About: "x", Time: day(1)}, driver.Note{URI: facts.Join("2"), Text: "two", About: "x", Time: day(2)})
			ended = 1
		}
		s, err := k.Stats(c.ctx)
		c.must(err, "count")
		if s.Notes["user"] != 2 || s.Notes["resources"] != 1 || s.Notes["agent"] != 2*ended || s.Ended != ended || s.Bytes <= 0 {
			c.broken("there are %+v", s)
		}
		if a, ok := c.s.(driver.Archiver); ok {
			_, err := a.Archive(c.ctx, archive(session.FromUser("x")), true)
			c.must(err, "archive")
			if s, err := k.Stats(c.ctx); err != nil || s.Archives != 1 || s.Pending != 1 || s.Failed != 0 {
				c.broken("with an archive there are %+v, %v", s, err)
			}
		}
	}},
	{"reads resources", "a server may read documents itself", "Ingest", func(c check) {
		x, ok := c.s.(driver.Ingester)
		if !ok {
			c.Fatalf("the driver claims Ingest and is no driver.Ingester")
		}
		folder := docs.Join("manual")
		got, err := x.Ingest(c.ctx, driver.Resource{URI: folder, Data: []byte("# Samovar\n\nTurn the lid twice.\n"), MIME: "text/markdown", Wait: true})
		c.must(err, "ingest")
		if got.Notes == 0 || !got.URI.In(folder) {
			c.broken("it came to %+v", got)
		}
		if names := c.list(got.URI); len(names) == 0 {
			c.broken("nothing is in %s", got.URI)
		}
	}},
	{"extracts facts", "a server may do that itself", "Commit", func(c check) {
		x, ok := c.s.(driver.Committer)
		if !ok {
			c.Fatalf("the driver claims Commit and is no driver.Committer")
		}
		a := archive(session.FromUser("My name is Ada, and I live in London.").Append(session.Assistant([]session.Part{session.Text("Noted.")})))
		a.Time = time.Now()
		got, err := x.Commit(c.ctx, a, true)
		c.must(err, "commit")
		if s := got.Archive.State; s != driver.Done && s != driver.Known || got.Archive.Digest != a.Digest {
			c.broken("it came to %+v", got)
		}
	}},
}
