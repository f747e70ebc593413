package local

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// smallDisk is a folder with little room and a file that takes some of it.
func smallDisk(t *testing.T, size string) (dir, ballast string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("rath-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast = filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, ballast
}

// noise is a text of words that are nowhere else.
func noise(words int) (text string) {
	for range words {
		text += fmt.Sprintf("%x ", rand.Uint64())
	}
	return text
}

func TestFullDisk(t *testing.T) {
	dir, ballast := smallDisk(t, "6m")
	d := openDir(t, dir, nil)
	ctx := t.Context()
	kept := map[driver.URI]string{}
	batch := func() (notes []driver.Note) {
		for range 3 {
			notes = append(notes, driver.Note{URI: driver.URI(fmt.Sprint("memory://user/n", rand.Uint64())), Text: noise(300)})
		}
		return notes
	}
	keep := func(notes []driver.Note) {
		for _, n := range notes {
			kept[n.URI] = n.Text
		}
	}
	var refused []driver.Note
	var err error
	for len(kept) < 3000 {
		refused = batch()
		if _, err = d.Put(ctx, driver.Replace, refused...); err != nil {
			break
		}
		keep(refused)
	}
	var e *Error
	if !errors.Is(err, ErrFull) || !errors.As(err, &e) || e.Hint() == "" {
		t.Fatalf("after %d notes: %v", len(kept), err)
	}
	s := session.FromUser(noise(5000))
	if _, err := d.Archive(ctx, driver.Archive{Session: s.ID(), Transcript: s.Transcript()}, true); !errors.Is(err, ErrFull) {
		t.Errorf("archive: %v", err)
	}
	whole(t, d, kept)
	if _, err := d.Put(ctx, driver.Replace, refused...); !errors.Is(err, ErrFull) {
		t.Errorf("still full: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Put(ctx, driver.Replace, refused...); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	keep(refused)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, openDir(t, dir, nil), kept)
}

// whole checks that notes are kept and found.
func whole(t *testing.T, d *database, kept map[driver.URI]string) {
	t.Helper()
	for uri, text := range kept {
		if n, err := d.Get(t.Context(), uri); err != nil || n.Text != text {
			t.Fatalf("a note kept before: %v", err)
		}
	}
	intact(t, d)
	m := newModel()
	m.workers[0] = &expected{notes: kept}
	m.found(t, d)
}

func TestOpenOnAFullDisk(t *testing.T) {
	dir, _ := smallDisk(t, "1m") // the ballast takes it all
	d, err := open(t.Context(), dir, nil)
	if err == nil {
		t.Fatal(errors.Join(errors.New("opened"), d.Close()))
	}
	if !errors.Is(err, ErrFull) {
		t.Errorf("the error is %v", err)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	dir, _ := smallDisk(t, "4m")
	d := openDir(t, dir, nil)
	keepNote(t, d, "memory://user/a", "x")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, "size=4m"); err != nil {
			t.Skipf("the disk cannot be changed: %v", err)
		}
	}
	remount(syscall.MS_RDONLY)
	var e *Error
	if _, err := open(t.Context(), dir, nil); !errors.Is(err, fs.ErrPermission) || !errors.As(err, &e) || e.Hint() == "" {
		t.Errorf("the error is %v", err)
	}
	remount(0)
	if n, err := openDir(t, dir, nil).Get(t.Context(), "memory://user/a"); err != nil || n.Text != "x" {
		t.Errorf("writable again: %+v, %v", n, err)
	}
}
