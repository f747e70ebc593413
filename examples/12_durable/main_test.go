package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store/sqlite"
)

// The run is put down in the middle and found again.
func TestGoesOn(t *testing.T) {
	*step = 10 * time.Millisecond
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ctx, cancel := context.WithCancel(t.Context())
	h, err := run.New(st, nil).Start(ctx, "letters", letters(), session.FromUser("Post five letters."))
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(25*time.Millisecond, cancel)
	_, _ = h.Wait()
	out, err := post(t.Context(), st, letters())
	if err != nil || out.Text() != "All five letters are posted." || out.Len() != 12 {
		t.Errorf("%q, %d chunks, %v", out.Text(), out.Len(), err)
	}
}
