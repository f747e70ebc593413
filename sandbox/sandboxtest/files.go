package sandboxtest

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"

	"github.com/openrath-go/rath/sandbox"
)

// fileRules are those of the file tools.
var fileRules = []rule{
	{"reads back what it wrote", "a tool must find what another left", "Files", func(c check) {
		for _, data := range []string{"", "text\n", "\x00\xff binary \r\n", strings.Repeat("x", 1<<20), "世界"} {
			c.write("a/b/c.txt", data)
			got, err := c.s.ReadFile(c.ctx, "a/b/c.txt")
			c.must(err, "read")
			if !bytes.Equal(got, []byte(data)) {
				c.broken("wrote %d bytes, read %d that differ", len(data), len(got))
			}
		}
	}},
	{"reads ranges", "a huge file must not be loaded whole", "Files", func(c check) {
		c.write("f", "0123456789")
		data, size, err := c.s.ReadRange(c.ctx, "f", 3, 4)
		c.must(err, "read a range")
		if string(data) != "3456" || size != 10 {
			c.broken("range 3+4 of 0123456789 is %q of %d, want \"3456\" of 10", data, size)
		}
		if data, _, err := c.s.ReadRange(c.ctx, "f", 20, 4); err != nil || len(data) != 0 {
			c.broken("a range past the end is %q, %v, want empty", data, err)
		}
	}},
	{"lists sorted", "results must be the same each time", "Files", func(c check) {
		for _, name := range []string{"d/b", "d/a", "d/sub/x", "d/ü"} {
			c.write(name, name)
		}
		entries, err := c.s.List(c.ctx, "d")
		c.must(err, "list")
		var names []string
		for _, e := range entries {
			names = append(names, e.Path)
			if e.IsDir != (e.Name == "sub") {
				c.broken("entry %+v has the wrong kind", e)
			}
		}
		if got := strings.Join(names, " "); got != "d/a d/b d/sub d/ü" {
			c.broken("the list is %q", got)
		}
	}},
	{"walks everything once", "search must see every file", "Files", func(c check) {
		for _, name := range []string{"w/1", "w/2/3", "w/2/4", "w/skip/5"} {
			c.write(name, "")
		}
		var seen []string
		c.must(c.s.Walk(c.ctx, "w", func(e sandbox.Entry, err error) error {
			c.must(err, "list "+e.Path)
			seen = append(seen, e.Path)
			if e.Name == "skip" {
				return fs.SkipDir
			}
			return nil
		}), "walk")
		if got := strings.Join(seen, " "); got != "w/1 w/2 w/2/3 w/2/4 w/skip" {
			c.broken("the walk saw %q", got)
		}
	}},
	{"names what is missing", "a tool tells the model that a file is not there", "Files", func(c check) {
		_, err := c.s.ReadFile(c.ctx, "no/such")
		c.is(err, fs.ErrNotExist, "read a missing file")
		_, err = c.s.List(c.ctx, "no")
		c.is(err, fs.ErrNotExist, "list a missing folder")
		c.is(c.s.Remove(c.ctx, "no"), fs.ErrNotExist, "remove a missing file")
		if ok, err := c.s.Exists(c.ctx, "no"); ok || err != nil {
			c.broken("Exists of a missing file is %v, %v", ok, err)
		}
		var e *sandbox.Error
		if !errors.As(err, &e) || e.Op == "" || !strings.Contains(e.Error(), "no") {
			c.broken("error %v does not say what was attempted on what", err)
		}
	}},
	{"refuses to leave the workspace", "a model must not reach the host's files", "Files", func(c check) {
		for _, name := range []string{"..", "../x", "a/../../x", "/etc/passwd", "/", "a/../../../etc/passwd"} {
			_, err := c.s.ReadFile(c.ctx, name)
			c.is(err, sandbox.ErrEscape, "read "+name)
			c.is(c.s.WriteFile(c.ctx, name, nil), sandbox.ErrEscape, "write "+name)
			_, err = c.s.List(c.ctx, name)
			c.is(err, sandbox.ErrEscape, "list "+name)
			c.is(c.s.Remove(c.ctx, name), sandbox.ErrEscape, "remove "+name)
			_, err = c.s.Canonical(name)
			c.is(err, sandbox.ErrEscape, "resolve "+name)
		}
	}},
	{"removes", "a tool must be able to clean up", "Files", func(c check) {
		c.write("r/s/t", "")
		c.must(c.s.Remove(c.ctx, "r"), "remove a folder")
		if ok, _ := c.s.Exists(c.ctx, "r/s/t"); ok {
			c.broken("the folder's file is still there")
		}
		if c.s.Remove(c.ctx, ".") == nil {
			c.broken("the workspace itself was removed")
		}
	}},
	{"follows no link outside", "a command may make any link; file tools must not fall for it", "Exec Files", func(c check) {
		c.shell(`ln -s /etc/passwd file; ln -s / dir; ln -s ../.. up; mkdir d; echo in >d/in; ln -s d inside`)
		for _, name := range []string{"file", "dir/etc/passwd", "up/etc/passwd", "inside/../../../etc/passwd"} {
			_, err := c.s.ReadFile(c.ctx, name)
			c.is(err, sandbox.ErrEscape, "read "+name)
			c.is(c.s.WriteFile(c.ctx, name, []byte("x")), sandbox.ErrEscape, "write "+name)
		}
		if got, err := c.s.ReadFile(c.ctx, "inside/in"); string(got) != "in\n" {
			c.broken("through a link inside: %q, %v", got, err)
		}
		if name, err := c.s.Canonical("inside/in"); name != "d/in" {
			c.broken("the canonical name of inside/in is %q, %v, want d/in", name, err)
		}
		c.must(c.s.Remove(c.ctx, "dir"), "remove the link itself")
	}},
}
