package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A git that commands may have put into a workspace is not run, whatever PATH says.
func TestUntrustedGit(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	planted := "#!/bin/sh\n: >" + filepath.Join(dir, "ran") + "\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(planted), 0o700); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(filepath.Join(bin, "git"), filepath.Join(outside, "git")); err != nil {
		t.Skip(err)
	}
	path := os.Getenv("PATH")
	for _, folder := range []string{bin, outside, "."} {
		t.Setenv("PATH", folder+string(filepath.ListSeparator)+path)
		t.Chdir(bin)
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "store"), &Options{Untrusted: []string{dir}})
		if errors.Is(err, ErrNoGit) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.Snapshot(t.Context(), bin)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, "more"), []byte(folder), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := s.Snapshot(t.Context(), bin)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Diff(t.Context(), a.ID, b.ID); err != nil {
			t.Errorf("with %s first: %v", folder, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
			t.Errorf("with %s first the planted git was run", folder)
		}
	}
	t.Setenv("PATH", bin)
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "store"), &Options{Untrusted: []string{dir}}); !errors.Is(err, ErrNoGit) {
		t.Errorf("with no other git: %v", err)
	}
}
