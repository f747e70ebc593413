//go:build unix

package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
)

func TestHidden(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	s, err := local.Open(t.Context(), dir, &local.Options{Hidden: []string{
		".rath/keys.json", filepath.Join(dir, ".rath/later.json"), "private", "linked", filepath.Join(outside, "keys"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{".rath/keys.json", ".rath/open.json", "private/sub/file", "target"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "keys"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(make func(string, string) error, target, name string) {
		t.Helper()
		if err := make(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(os.Symlink, ".rath/keys.json", "link")
	link(os.Symlink, "link", "link-to-link")
	link(os.Symlink, ".rath", "folder")
	link(os.Symlink, "private", "folder2")
	link(os.Symlink, "target", "linked")
	link(os.Link, filepath.Join(dir, ".rath/keys.json"), "hard")
	link(os.Link, filepath.Join(outside, "keys"), "hard-outside")

	refused := func(name, doing string, err error) {
		t.Helper()
		var e *sandbox.Error
		if !errors.Is(err, sandbox.ErrHidden) || !errors.Is(err, fs.ErrPermission) || !errors.As(err, &e) || e.Hint() == "" {
			t.Errorf("%s %s: %v", doing, name, err)
		}
	}
	for _, name := range []string{
		".rath/keys.json", "./.rath/../.rath/keys.json", filepath.Join(dir, ".rath/keys.json"),
		".rath/later.json", ".RATH/Later.json", ".rath/keys.json/x", "folder/later.json",
		"private", "private/sub/file", "private/new", "folder2/sub/file", "target", "linked",
		"link", "link-to-link", "folder/keys.json", "hard", "hard-outside",
	} {
		_, err := s.ReadFile(t.Context(), name)
		refused(name, "read", err)
		_, err = s.Stat(t.Context(), name)
		refused(name, "stat", err)
		_, err = s.List(t.Context(), name)
		refused(name, "list", err)
		refused(name, "write", s.WriteFile(t.Context(), name, []byte("x")))
	}
	for _, name := range []string{".", ".rath", "private", "private/sub", ".rath/keys.json", "linked", "target", "folder/keys.json"} {
		if err := s.Remove(t.Context(), name); err == nil {
			t.Errorf("%s was removed", name)
		}
	}
	var seen []string
	if err := s.Walk(t.Context(), ".", func(e sandbox.Entry, err error) error { seen = append(seen, e.Path); return err }); err != nil {
		t.Fatal(err)
	}
	want := []string{".rath", ".rath/open.json", "folder", "folder2", "link", "link-to-link"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("listed (-want +got)\n%s", diff)
	}
	if data, err := s.ReadFile(t.Context(), "folder/open.json"); string(data) != "text" {
		t.Errorf("what is beside a hidden file: %q, %v", data, err)
	}
	if err := s.Remove(t.Context(), "link"); err != nil {
		t.Errorf("a link to a hidden file can go: %v", err)
	}
}

// What is hidden stays so by whatever links its name goes, also before it is there.
func TestHiddenThroughALinkToTheWorkspace(t *testing.T) {
	parent := t.TempDir()
	dir, link := filepath.Join(parent, "real"), filepath.Join(parent, "link")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	s, err := local.Open(t.Context(), dir, &local.Options{Hidden: []string{
		filepath.Join(link, "keys"), filepath.Join(link, ".openrath/keys"), filepath.Join(link, "linked"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Symlink("target", filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"keys", ".openrath/keys", ".OPENRATH/keys/x", "linked", "target"} {
		if err := s.WriteFile(t.Context(), name, []byte("x")); !errors.Is(err, sandbox.ErrHidden) {
			t.Errorf("write %s: %v", name, err)
		}
	}
	if err := s.WriteFile(t.Context(), ".openrath/open", nil); err != nil {
		t.Error(err)
	}
}
