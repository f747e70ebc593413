package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openrath-go/rath/workspace"
)

// plainEntry is what the naive model has at a path.
type plainEntry struct {
	Mode    fs.FileMode
	Content string
}

// model is a directory tree, by slash path.
type model map[string]plainEntry

func (m model) clone() model { return maps.Clone(m) }

func up(p string) string { return p[:max(strings.LastIndexByte(p, '/'), 0)] }

// put sets a path, with the directories above it, unless something else is in the way.
func (m model) put(p string, e plainEntry) {
	for d := up(p); d != ""; d = up(d) {
		if has, ok := m[d]; ok && !has.Mode.IsDir() {
			return
		}
	}
	if !e.Mode.IsDir() {
		m.remove(p)
	} else if has, ok := m[p]; ok && !has.Mode.IsDir() {
		return
	}
	m[p] = e
	for d := up(p); d != ""; d = up(d) {
		if _, ok := m[d]; !ok {
			m[d] = plainEntry{Mode: fs.ModeDir | 0o755}
		}
	}
}

func (m model) remove(p string) {
	for q := range m {
		if q == p || strings.HasPrefix(q, p+"/") {
			delete(m, q)
		}
	}
}

// write makes a directory what the model is.
func (m model) write(t testing.TB, dir string) {
	t.Helper()
	clear := func() error {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
		return err
	}
	must(t, clear())
	paths := slices.Sorted(maps.Keys(m))
	for _, p := range paths {
		name := filepath.Join(dir, filepath.FromSlash(p))
		switch e := m[p]; e.Mode.Type() {
		case fs.ModeDir:
			must(t, os.Mkdir(name, 0o700))
		case fs.ModeSymlink:
			must(t, os.Symlink(e.Content, name))
		default:
			must(t, os.WriteFile(name, []byte(e.Content), 0o600))
			must(t, os.Chmod(name, e.Mode.Perm()))
		}
	}
	slices.Reverse(paths)
	for _, p := range paths {
		if e := m[p]; e.Mode.IsDir() {
			must(t, os.Chmod(filepath.Join(dir, filepath.FromSlash(p)), e.Mode.Perm()))
		}
	}
}

// readModel reads a directory as simply as can be.
func readModel(t testing.TB, dir string) model {
	t.Helper()
	m := model{}
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		e := plainEntry{Mode: info.Mode().Type() | info.Mode().Perm()}
		switch info.Mode().Type() {
		case 0:
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			e.Content = string(data)
		case fs.ModeSymlink:
			e.Mode = fs.ModeSymlink | 0o777
			e.Content, err = os.Readlink(name)
		}
		m[filepath.ToSlash(rel)] = e
		return err
	}))
	return m
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// names are few, so that trees meet, and strange.
var names = []string{"a", "b", "c", "-rf", "new\nline", "qu\"ote", "back\\slash", "sp ace ", "\xff\xfe", "é", "*.go", "[x]", "a-b", "a.b", "d", ".hidden", "CON", "tab\t"}

// drawPath draws a path that is at most three deep.
func drawPath(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, "path")
	return strings.Join(parts, "/")
}

func drawEntry(t *rapid.T) plainEntry {
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return plainEntry{Mode: fs.ModeDir | rapid.SampledFrom([]fs.FileMode{0o755, 0o700, 0o750, 0o777}).Draw(t, "perm")}
	case 1:
		return plainEntry{fs.ModeSymlink | 0o777, rapid.SampledFrom([]string{"a", "../..", "/etc/passwd", "b/c", "nowhere"}).Draw(t, "target")}
	case 2:
		return plainEntry{0o644, string(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bytes"))}
	}
	perm := rapid.SampledFrom([]fs.FileMode{0o644, 0o644, 0o644, 0o755, 0o600, 0o444, 0o700, 0o664}).Draw(t, "perm")
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"one\n", "two\n", "three\r\n", "four\n", "last"}), 0, 8).Draw(t, "lines")
	return plainEntry{perm, strings.Join(lines, "")}
}

func drawModel(t *rapid.T) model {
	m := model{}
	for range rapid.IntRange(0, 15).Draw(t, "entries") {
		m.put(drawPath(t), drawEntry(t))
	}
	return m
}

// edited is a model after some changes.
func (m model) edited(t *rapid.T) model {
	n := m.clone()
	for range rapid.IntRange(0, 6).Draw(t, "edits") {
		paths := slices.Sorted(maps.Keys(n))
		switch rapid.IntRange(0, 3).Draw(t, "edit") {
		case 0:
			if len(paths) > 0 {
				n.remove(rapid.SampledFrom(paths).Draw(t, "removed"))
			}
		case 1:
			if len(paths) > 0 {
				p := rapid.SampledFrom(paths).Draw(t, "renamed")
				if e := n[p]; !e.Mode.IsDir() {
					n.remove(p)
					n.put(drawPath(t), e)
				}
			}
		case 2:
			if len(paths) > 0 {
				p := rapid.SampledFrom(paths).Draw(t, "changed")
				n.put(p, drawEntry(t))
			}
		default:
			n.put(drawPath(t), drawEntry(t))
		}
	}
	return n
}

func openStore(t testing.TB, options *workspace.Options) *workspace.Store {
	t.Helper()
	s, err := workspace.Open(context.Background(), filepath.Join(t.TempDir(), "shadow.git"), options)
	must(t, err)
	return s
}

func snapshot(t testing.TB, s *workspace.Store, dir string) workspace.ID {
	t.Helper()
	snap, err := s.Snapshot(context.Background(), dir)
	must(t, err)
	return snap.ID
}

func restore(t testing.TB, s *workspace.Store, dir string, id workspace.ID) {
	t.Helper()
	_, err := s.Restore(context.Background(), dir, id)
	must(t, err)
}

// written is the snapshot of a model.
func (m model) written(t testing.TB, s *workspace.Store, dir string) workspace.ID {
	t.Helper()
	m.write(t, dir)
	return snapshot(t, s, dir)
}

func diffModels(want, got model) string { return cmp.Diff(want, got) }

// contents reads a snapshot back as a model.
func contents(t testing.TB, s *workspace.Store, id workspace.ID) model {
	t.Helper()
	entries, err := s.List(context.Background(), id)
	must(t, err)
	m := model{}
	for p, e := range entries {
		var b strings.Builder
		if e.Blob != "" {
			must(t, s.Read(context.Background(), e.Blob, &b))
		}
		m[p] = plainEntry{e.Mode, b.String()}
	}
	return m
}

func numbered(n int) string { return fmt.Sprintf("%02d", n) }
