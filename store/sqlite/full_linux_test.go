package sqlite

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
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

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func TestFullDisk(t *testing.T) {
	dir, ballast := smallDisk(t, "4m")
	path := filepath.Join(dir, "rath.db")
	s := openFile(t, path, nil)
	ctx := t.Context()
	l, head := newRun(t, s)
	var kept []session.Session
	var events []store.Event
	var refused store.Batch
	var err error
	for err == nil && len(kept) < 1000 {
		e, problem := head.Next("test", time.Now(), len(events))
		if problem != nil {
			t.Fatal(problem)
		}
		x := session.New(session.User(session.Image("image/png", noise(10_000))))
		refused = store.Batch{Events: []store.Event{e}, Sessions: []session.Session{x}}
		if err = s.Append(ctx, l, refused).Wait(ctx); err == nil {
			head = e.Head()
			kept, events = append(kept, x), append(events, e)
		}
	}
	var e *Error
	if !errors.Is(err, ErrFull) || !errors.As(err, &e) || e.Hint() == "" {
		t.Fatalf("after %d batches: %v", len(kept), err)
	}
	intact := func() {
		t.Helper()
		for _, x := range kept {
			if y, err := s.Session(ctx, x.ID()); err != nil || y.Digest() != x.Digest() {
				t.Fatalf("a session kept before: %v", err)
			}
		}
		n := 0
		for e, err := range s.Events(ctx, l.Run, 1) {
			if err != nil || e.Hash != events[n].Hash {
				t.Fatalf("an event kept before: %v", err)
			}
			n++
		}
		if n != len(events) {
			t.Errorf("%d events, want %d", n, len(events))
		}
	}
	intact()
	if err := s.Append(ctx, l, refused).Wait(ctx); !errors.Is(err, ErrFull) {
		t.Errorf("still full: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, l, refused).Wait(ctx); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	kept, events = append(kept, refused.Sessions...), append(events, refused.Events...)
	intact()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openFile(t, path, nil)
	intact()
	integrity(t, path)
}

func TestOpenOnAFullDisk(t *testing.T) {
	dir, _ := smallDisk(t, "1m") // the ballast takes it all
	s, err := Open(t.Context(), filepath.Join(dir, "rath.db"), nil)
	if err == nil {
		t.Fatal(errors.Join(errors.New("opened"), s.Close()))
	}
	if !errors.Is(err, ErrFull) {
		t.Errorf("the error is %v", err)
	}
}

// TestReadOnlyDisk reads a store where nothing can be written, not even an index.
func TestReadOnlyDisk(t *testing.T) {
	dir, _ := smallDisk(t, "4m")
	path := filepath.Join(dir, "rath.db")
	x := session.FromUser("x")
	s := openFile(t, path, nil)
	put(t, s, x)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("the disk cannot be made read only: %v", err)
	}
	var e *Error
	if _, err := Open(t.Context(), path, nil); !errors.As(err, &e) || e.Hint() == "" {
		t.Errorf("open for writing: %v", err)
	}
	s = openFile(t, path, &Options{ReadOnly: true})
	if _, err := s.Session(t.Context(), x.ID()); err != nil {
		t.Error(err)
	}
}
