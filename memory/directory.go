package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory/driver"
)

// The files of OpenRath's directory of a memory.
const (
	noteSuffix   = ".md"
	vectorSuffix = ".vec" // of what a note's file is called without its suffix, or with it
)

// Transferred is what an import or export has done.
type Transferred struct {
	Notes  int `json:"notes"`
	Others int `json:"others"` // files that are no notes, kept as they are
}

// Import takes over a directory in OpenRath's layout: a Markdown file a note, in the folders
// user, agent, session and resources. Other files are kept as they are, so that Export writes
// the same directory again. Notes that are there already are replaced.
func (s *Store) Import(ctx context.Context, dir string) (Transferred, error) {
	return do(ctx, s, operation{"import", dir, effect.Idempotent}, dir, func(ctx context.Context) (Transferred, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return Transferred{}, err
		}
		defer root.Close()
		in := importer{store: s, root: root}
		in.extras, _ = s.d.(driver.Extras)
		err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || ctx.Err() != nil {
				return errors.Join(err, context.Cause(ctx))
			}
			return in.take(ctx, name, d)
		})
		if err == nil {
			err = in.flush(ctx)
		}
		return in.done, err
	})
}

type importer struct {
	store  *Store
	root   *os.Root
	extras driver.Extras // nil: only notes are kept
	notes  []Note
	size   int
	done   Transferred
}

// take keeps a file. Links are not followed: they may lead out of the directory.
func (in *importer) take(ctx context.Context, name string, d fs.DirEntry) error {
	if d.IsDir() {
		return nil
	}
	if !d.Type().IsRegular() {
		return fmt.Errorf("%s is no regular file", name)
	}
	data, err := in.root.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	if n, ok := parseNote(name, data, info.ModTime().UTC()); ok {
		in.notes, in.size = append(in.notes, n), in.size+len(n.Text)
		if in.size < 1<<20 && len(in.notes) < 512 {
			return nil
		}
		return in.flush(ctx)
	}
	return in.other(ctx, name, data)
}

func (in *importer) flush(ctx context.Context) error {
	if len(in.notes) == 0 {
		return nil
	}
	_, err := in.store.d.Put(ctx, driver.Replace, in.notes...)
	in.done.Notes += len(in.notes)
	in.notes, in.size = nil, 0
	return err
}

func (in *importer) other(ctx context.Context, name string, data []byte) error {
	if in.extras == nil {
		return fmt.Errorf("%w: keep %s, which is no note", ErrUnsupported, name)
	}
	if strings.HasSuffix(name, vectorSuffix) {
		sum, err := in.digestOf(name)
		if err != nil {
			return err
		}
		data = append(sum[:], data...)
	}
	in.done.Others++
	return in.extras.PutExtra(ctx, name, data)
}

// digestOf is that of the note that a vector belongs to: of a note that has changed since,
// the vector is worth nothing.
func (in *importer) digestOf(vector string) (sum [sha256.Size]byte, err error) {
	data, err := in.root.ReadFile(filepath.FromSlash(noteOf(vector) + noteSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return sum, nil
	}
	return sha256.Sum256(data), err
}

// noteOf is the note that a vector belongs to, without its suffix.
func noteOf(vector string) string {
	return strings.TrimSuffix(strings.TrimSuffix(vector, vectorSuffix), noteSuffix)
}

// parseNote makes a note of a file, unless it is something else.
func parseNote(name string, data []byte, at time.Time) (Note, bool) {
	stem, ok := strings.CutSuffix(name, noteSuffix)
	if !ok || !utf8.Valid(data) {
		return Note{}, false
	}
	uri, err := ParseURI(string(Root) + stem)
	if err != nil || uri.Path() != stem {
		return Note{}, false
	}
	n, err := unframe(data)
	if err != nil {
		n = Note{Text: string(data)}
	}
	n.URI = uri
	if n.Time.IsZero() {
		n.Time = at
	}
	return n, validNote(n) == nil
}

// Export writes a directory in OpenRath's layout: a Markdown file a note, with the time at
// which it was said, and what else is known of a note in front of its text. The directory
// must not be there, or be empty; it appears whole or not at all.
func (s *Store) Export(ctx context.Context, dir string) (Transferred, error) {
	done, err := s.export(ctx, dir)
	return done, s.fail("export", dir, err)
}

func (s *Store) export(ctx context.Context, dir string) (done Transferred, err error) {
	if entries, err := os.ReadDir(dir); len(entries) > 0 {
		return done, fmt.Errorf("%w: there is something in the directory", fs.ErrExist)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o777); err != nil {
		return done, err
	}
	partial, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), "."+filepath.Base(dir)+".partial-")
	if err != nil {
		return done, err
	}
	defer os.RemoveAll(partial)
	out := exporter{store: s, dir: partial}
	if err := out.run(ctx); err != nil {
		return done, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	return out.done, errors.Join(os.Chmod(partial, 0o700), os.Rename(partial, dir))
}

type exporter struct {
	store *Store
	dir   string
	done  Transferred
}

func (out *exporter) run(ctx context.Context) error {
	for _, scope := range driver.Scopes {
		if err := os.Mkdir(filepath.Join(out.dir, scope), 0o700); err != nil {
			return err
		}
	}
	entries, err := out.store.tree(ctx, Root, 0, nil)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsNote {
			continue
		}
		n, err := out.store.d.Get(ctx, e.URI)
		if err != nil {
			return err
		}
		if err := out.write(n.URI.Path()+noteSuffix, frame(n), n.Time); err != nil {
			return err
		}
		out.done.Notes++
	}
	x, ok := out.store.d.(driver.Extras)
	if !ok {
		return nil
	}
	return x.EachExtra(ctx, out.other)
}

func (out *exporter) other(name string, data []byte) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("the name %q leads out of the directory", name)
	}
	if strings.HasSuffix(name, vectorSuffix) && len(data) >= sha256.Size {
		note, err := os.ReadFile(filepath.Join(out.dir, filepath.FromSlash(noteOf(name)+noteSuffix)))
		sum := sha256.Sum256(note)
		if err == nil && !bytes.Equal(sum[:], data[:sha256.Size]) {
			return nil // the note has changed
		}
		data = data[sha256.Size:]
	}
	out.done.Others++
	return out.write(name, data, time.Time{})
}

func (out *exporter) write(name string, data []byte, at time.Time) error {
	file := filepath.Join(out.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o600); err != nil || at.IsZero() {
		return err
	}
	return os.Chtimes(file, at, at)
}
