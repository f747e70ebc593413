package local

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openrath-go/rath/memory/driver"
)

// pieces are notes of a document.
func pieces(folder driver.URI, digest string, n int) (notes []driver.Note) {
	for i := range n {
		notes = append(notes, driver.Note{
			URI: folder.Join(fmt.Sprintf("%04d", i+1)), Text: fmt.Sprint(digest, " ", i), Source: driver.Source{Origin: "doc", SHA256: digest},
		})
	}
	return notes
}

func TestPutDocument(t *testing.T) {
	d, err := open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const folder driver.URI = "memory://resources/été"
	hand := driver.Note{URI: folder.Join("mine"), Text: "by hand"}
	within := pieces(folder.Join("0002"), "c", 2)
	orphans := pieces(folder, "a", 9)[5:]
	if _, err := d.Put(t.Context(), driver.Replace, append(append(within, hand), orphans...)...); err != nil {
		t.Fatal(err)
	}
	put := func(was, digest string, n int, want error) {
		t.Helper()
		if err := d.PutDocument(t.Context(), folder, was, pieces(folder, digest, n)); !errors.Is(err, want) {
			t.Errorf("%s in place of %q: %v, not %v", digest, was, err, want)
		}
	}
	check := func(want ...driver.Note) {
		t.Helper()
		all := map[driver.URI]string{}
		for _, n := range append(append(want, within...), hand) {
			all[n.URI] = n.Text
		}
		got := map[driver.URI]string{}
		for _, f := range []driver.URI{folder, folder.Join("0002")} {
			entries, err := d.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.IsNote {
					n, _ := d.Get(t.Context(), e.URI)
					got[e.URI] = n.Text
				}
			}
		}
		if d := cmp.Diff(all, got); d != "" {
			t.Error(d)
		}
	}
	put("", "b", 3, driver.ErrConflict)
	check(orphans...)
	put("a", "b", 3, nil)
	check(pieces(folder, "b", 3)...)
	put("a", "d", 5, driver.ErrConflict)
	put("b", "d", 1, nil)
	check(pieces(folder, "d", 1)...)
	if _, err := d.Put(t.Context(), driver.Replace, driver.Note{URI: folder.Join("0003"), Text: "by hand, too"}); err != nil {
		t.Fatal(err)
	}
	put("d", "e", 4, driver.ErrExists)
	put("d", "e", 0, nil)
	check(driver.Note{URI: folder.Join("0003"), Text: "by hand, too"})
	const other driver.URI = "memory://resources/other"
	for _, f := range []driver.URI{other, "memory://user/x"} {
		if err := d.PutDocument(t.Context(), f, "", pieces(f, "c", 2)); err != nil {
			t.Fatal(err)
		}
	}
	folders, err := d.FindDocument(t.Context(), "c", "memory://resources")
	if diff := cmp.Diff([]driver.URI{other, folder.Join("0002")}, folders); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// A document is found by the index, however many notes there are.
func TestFindDocumentByIndex(t *testing.T) {
	d, err := open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const query = "EXPLAIN QUERY PLAN " + documentsOf
	var id, parent, unused int
	var plan string
	if err := d.writer.conn.QueryRowContext(t.Context(), query, "x", "a", "b").Scan(&id, &parent, &unused, &plan); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plan, "COVERING INDEX notes_document (<expr>=? AND uri>? AND uri<?)") {
		t.Errorf("the plan is %q", plan)
	}
}
