package local

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSweepTakesWhatNobodyHas(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", base)
	used, err := newScratch()
	if err != nil {
		t.Fatal(err)
	}
	defer used.close()
	left := filepath.Join(base, scratchPrefix+"left")
	if err := os.MkdirAll(filepath.Join(left, "home", "locked"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(left, "home"), 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{left}, Sweep()); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(used.home()); err != nil {
		t.Errorf("what is in use was removed: %v", err)
	}
	if got := Sweep(); got != nil {
		t.Errorf("swept again: %v", got)
	}
}

func TestTemporaryFolderThatCannotBe(t *testing.T) {
	base := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(base, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", base)
	_, err := newScratch()
	var hinted interface{ Hint() string }
	if !errors.As(err, &hinted) || hinted.Hint() == "" {
		t.Errorf("no hint in %v", err)
	}
}
