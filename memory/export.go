package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory/driver"
)

// ExportOptions say how a directory is written.
type ExportOptions struct {
	Progress func(Progress) // called now and then from one goroutine; may be nil
}

// exported is the input of an export.
type exported struct {
	Dir string `json:"dir"`
}

// Export writes a directory in OpenRath's layout: a Markdown file a note, with the time at
// which it was said, and what else is known of a note in front of its text. The directory
// must not be there, or be empty; it appears whole or not at all.
func (s *Store) Export(ctx context.Context, dir string, o *ExportOptions) (Transferred, error) {
	if o == nil {
		o = &ExportOptions{}
	}
	return do(ctx, s, operation{"export", dir, effect.Idempotent}, exported{dir}, func(ctx context.Context) (Transferred, error) {
		return s.export(ctx, dir, o)
	})
}

func (s *Store) export(ctx context.Context, dir string, o *ExportOptions) (done Transferred, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return done, err
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 {
		return done, fmt.Errorf("%w: there is something in the directory", fs.ErrExist)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return done, err
	}
	partial, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".partial-")
	if err != nil {
		return done, err
	}
	defer os.RemoveAll(partial)
	out := exporter{store: s, options: o, dir: partial, sums: map[string][sha256.Size]byte{}}
	if err := out.run(ctx); err != nil {
		return done, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	return out.done, errors.Join(os.Chmod(partial, 0o700), os.Rename(partial, dir))
}

type exporter struct {
	store   *Store
	options *ExportOptions
	dir     string
	total   int                          // notes; 0: not known
	sums    map[string][sha256.Size]byte // of the notes' files, by the notes' paths
	done    Transferred
}

func (out *exporter) run(ctx context.Context) error {
	for _, scope := range driver.Scopes {
		if err := os.Mkdir(filepath.Join(out.dir, scope), 0o700); err != nil {
			return err
		}
	}
	if err := out.folder(ctx, Root); err != nil {
		return err
	}
	if x, ok := out.store.d.(driver.Extras); ok {
		return x.EachExtra(ctx, out.other)
	}
	return nil
}

// folder writes the notes of a folder. What is removed meanwhile is not there any more.
func (out *exporter) folder(ctx context.Context, folder URI) error {
	entries, err := out.store.d.List(ctx, folder)
	if errors.Is(err, ErrNotFound) && folder != Root {
		return nil
	}
	if err != nil {
		return err
	}
	folders, count := map[string]bool{}, 0
	for _, e := range entries {
		folders[e.URI.Base()] = e.Notes != 0 || folders[e.URI.Base()]
		count += max(e.Notes, 0)
	}
	if folder == Root {
		out.total = count
	}
	for _, e := range entries {
		if e.IsNote {
			err = out.note(ctx, e.URI, folders[e.URI.Base()+noteSuffix])
		}
		if err == nil && e.Notes != 0 {
			err = out.folder(ctx, e.URI)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (out *exporter) note(ctx context.Context, uri URI, isFolder bool) error {
	n, err := out.store.d.Get(ctx, uri)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	data := frame(n)
	if err := out.write(fileOf(uri.Path(), isFolder), data, n.Time); err != nil {
		return err
	}
	out.sums[uri.Path()] = sha256.Sum256(data)
	out.done.Notes++
	if out.options.Progress != nil {
		out.options.Progress(Progress{uri.Path(), out.done.Notes, out.total, out.done.Notes})
	}
	return nil
}

// other writes a file that is no note. Where a note's file is, it has no place any more.
func (out *exporter) other(name string, data []byte) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("the name %q leads out of the directory", name)
	}
	if out.isTaken(name) {
		out.done.skip(name, "there is something else of that name")
		return nil
	}
	if strings.HasSuffix(name, vectorSuffix) && len(data) >= sha256.Size {
		if !out.current(stemOfVector(name), data[:sha256.Size]) {
			return nil
		}
		data = data[sha256.Size:]
	}
	out.done.Others++
	return out.write(name, data, time.Time{})
}

// isTaken reports whether a name, or that of a folder that it is in, is another file's.
func (out *exporter) isTaken(name string) bool {
	if _, err := os.Lstat(filepath.Join(out.dir, filepath.FromSlash(name))); err == nil {
		return true
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(out.dir, filepath.FromSlash(dir))); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// current reports whether the note of a vector is as it was when the vector came. Some came
// without one.
func (out *exporter) current(stem string, sum []byte) bool {
	var none [sha256.Size]byte
	if bytes.Equal(sum, none[:]) {
		return true
	}
	now, ok := out.sums[stem]
	return ok && bytes.Equal(sum, now[:])
}

// write makes a file. It replaces none: some systems take two names for the same.
func (out *exporter) write(name string, data []byte, at time.Time) error {
	file := filepath.Join(out.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil || undated(at) {
		return err
	}
	return os.Chtimes(file, at, at)
}
