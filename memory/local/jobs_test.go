package local

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

func archived(t *testing.T, d *database, text string) driver.Archive {
	t.Helper()
	s := session.FromUser(text)
	a := driver.Archive{Session: s.ID(), Transcript: s.Transcript()}
	if _, err := d.Archive(t.Context(), a, true); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestJobTellsItsLease(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{0: time.Minute, 3 * time.Second: 3 * time.Second} {
		d := openDir(t, t.TempDir(), &Options{Lease: lease})
		archived(t, d, "hello")
		if j, ok, err := d.Claim(t.Context(), "one"); !ok || err != nil || j.Lease != want {
			t.Errorf("lease %v: %+v, %v", lease, j, err)
		}
	}
}

// A file of the first version is brought up to date, and what it has stays.
func TestMigration(t *testing.T) {
	dir := t.TempDir()
	statement(schema.Migrations[0]+fmt.Sprintf(`
		INSERT INTO archives (id, session, digest, tip, len, time) VALUES (1, x'01', x'02', 0, 0, 3);
		INSERT INTO jobs (digest, archive, state, owner, tries, start, due) VALUES (x'02', 1, 1, '', 1, 0, 0);
		PRAGMA application_id = %d; PRAGMA user_version = 1`, schema.Application))(t, filepath.Join(dir, FileName))
	d := openDir(t, dir, nil)
	archived(t, d, "hello")
	j, ok, err := d.Claim(t.Context(), "one")
	if err == nil && ok {
		err = d.Finish(t.Context(), j, []driver.Note{{URI: "memory://user/b", Text: "y"}, {URI: "memory://user/c", Text: "Y."}})
	}
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	list, err := d.Archives(t.Context(), session.ID{})
	if err != nil || len(list) != 2 || list[0].State != driver.Done || list[1].State != driver.Done {
		t.Fatalf("%+v, %v", list, err)
	}
	if diff := cmp.Diff([][]driver.URI{nil, {"memory://user/b"}}, [][]driver.URI{list[0].Notes, list[1].Notes}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
