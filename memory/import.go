package memory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory/driver"
)

// ImportOptions say how a directory is taken over. The zero ImportOptions believe nobody.
type ImportOptions struct {
	Trust    bool           // believe what the files say of who said it; else that is not told
	Progress func(Progress) // called now and then from one goroutine; may be nil
}

// imported is the input of an import.
type imported struct {
	Dir   string `json:"dir"`
	Trust bool   `json:"trust,omitempty"`
}

// Import takes over a directory in OpenRath's layout: a Markdown file a note, in the folders
// user, agent, session and resources. Other files are kept as they are, so that Export writes
// the same directory again. Notes that are there already are replaced. Links, and what cannot
// be kept, are skipped, and told. If it fails, what was kept until then stays, and importing
// again comes to the same end.
func (s *Store) Import(ctx context.Context, dir string, o *ImportOptions) (Transferred, error) {
	if o == nil {
		o = &ImportOptions{}
	}
	return do(ctx, s, operation{"import", dir, effect.Idempotent}, imported{dir, o.Trust}, func(ctx context.Context) (Transferred, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return Transferred{}, err
		}
		defer root.Close()
		in := importer{store: s, options: o, root: root}
		in.extras, _ = s.d.(driver.Extras)
		if err := in.plan(ctx); err != nil {
			return Transferred{}, err
		}
		if err = in.run(ctx); err != nil {
			err = fmt.Errorf("after %d notes and %d other files, of %d: %w", in.done.Notes, in.done.Others, len(in.files), err)
		}
		return in.done, err
	})
}

type importer struct {
	store   *Store
	options *ImportOptions
	root    *os.Root
	extras  driver.Extras // nil: only notes are kept
	files   []file
	notes   []Note
	size    int
	done    Transferred
}

// file is one to be taken over.
type file struct {
	name string
	info fs.FileInfo
}

// maxImported is more than anybody has, and less than a directory that never ends.
const maxImported = 500_000

// plan lists the files before anything is kept. Links are not followed: they may lead out of
// the directory.
func (in *importer) plan(ctx context.Context) error {
	return fs.WalkDir(in.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			in.done.skip(name, err.Error())
			return nil
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			in.done.skip(name, "it is no regular file")
			return nil
		case len(in.files) == maxImported:
			return invalid("there are more than %d files", maxImported)
		}
		info, err := d.Info()
		switch {
		case err != nil:
			in.done.skip(name, err.Error())
		case info.Size() > maxExtra:
			in.done.skip(name, tooLong)
		default:
			in.files = append(in.files, file{name, info})
		}
		return nil
	})
}

var tooLong = fmt.Sprintf("it is longer than %d MiB", maxExtra>>20)

func (in *importer) run(ctx context.Context) error {
	for i, f := range in.files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := in.take(ctx, f); err != nil {
			return err
		}
		if in.options.Progress != nil {
			in.options.Progress(Progress{f.name, i + 1, len(in.files), in.done.Notes})
		}
	}
	return in.flush(ctx)
}

// take keeps a file.
func (in *importer) take(ctx context.Context, f file) error {
	data, err := in.read(f.name)
	if err != nil {
		in.done.skip(f.name, err.Error())
		return nil
	}
	n, ok := parseNote(f.name, data, f.info.ModTime().UTC())
	if !ok {
		return in.other(ctx, f.name, data)
	}
	if !in.options.Trust {
		n.Trust = TrustUnknown
	}
	in.notes, in.size = append(in.notes, n), in.size+len(n.Text)
	if in.size < 1<<20 && len(in.notes) < 512 {
		return nil
	}
	return in.flush(ctx)
}

// read reads a file that may have grown since it was listed.
func (in *importer) read(name string) ([]byte, error) {
	f, err := in.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxExtra+1))
	if err == nil && len(data) > maxExtra {
		err = errors.New(tooLong)
	}
	return data, err
}

// flush keeps the notes that were read. If the store cannot have one of them, the others are
// kept one by one.
func (in *importer) flush(ctx context.Context) error {
	notes := in.notes
	in.notes, in.size = nil, 0
	if len(notes) == 0 {
		return nil
	}
	_, err := in.store.d.Put(ctx, driver.Replace, notes...)
	switch {
	case err == nil:
		in.done.Notes += len(notes)
		return nil
	case !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrInvalidURI) && !errors.Is(err, ErrUnsupported):
		return err
	}
	for _, n := range notes {
		_, err := in.store.d.Put(ctx, driver.Replace, n)
		switch {
		case err == nil:
			in.done.Notes++
		case ctx.Err() != nil || !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrInvalidURI) && !errors.Is(err, ErrUnsupported):
			return err
		default:
			in.done.skip(n.URI.Path()+noteSuffix, err.Error())
		}
	}
	return nil
}

func (in *importer) other(ctx context.Context, name string, data []byte) error {
	if in.extras == nil {
		in.done.skip(name, "it is no note, and this memory keeps nothing else")
		return nil
	}
	if strings.HasSuffix(name, vectorSuffix) {
		sum := in.digestOf(stemOfVector(name))
		data = append(sum[:], data...)
	}
	if err := in.extras.PutExtra(ctx, name, data); err != nil {
		return err
	}
	in.done.Others++
	return nil
}

// digestOf is that of the note that a vector belongs to, or zero if there is none: of a note
// that has changed since, the vector is worth nothing.
func (in *importer) digestOf(stem string) (sum [sha256.Size]byte) {
	for _, isFolder := range []bool{false, true} {
		if data, err := in.read(fileOf(stem, isFolder)); err == nil {
			return sha256.Sum256(data)
		}
	}
	return sum
}
