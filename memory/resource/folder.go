package resource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"

	"github.com/openrath-go/rath/memory/driver"
)

// passed are folders whose files were written by nobody here.
const passed = " node_modules vendor bower_components __pycache__ "

// loadFolder lists the files first, so that a folder with too many is refused before
// anything of it is kept, and progress can tell how many there are.
func loadFolder(ctx context.Context, name string, o *Options) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		root, err := os.OpenRoot(name)
		if err != nil {
			yield(Document{}, fileError(err))
			return
		}
		defer root.Close()
		files, skipped, err := list(ctx, root.FS(), o)
		if err != nil {
			yield(Document{}, failed(driver.ErrInvalid, "read the folder %s: %w", name, err))
			return
		}
		p := Progress{Files: len(skipped), Skipped: len(skipped), Total: len(files) + len(skipped)}
		if o.Progress != nil {
			o.Progress(p)
		}
		for _, s := range skipped {
			if !yield(Document{}, s) {
				return
			}
		}
		loadFiles(ctx, root, files, p, o, yield)
	}
}

func loadFiles(ctx context.Context, root *os.Root, files []string, p Progress, o *Options, yield func(Document, error) bool) {
	for _, file := range files {
		data, err := readFile(func() (fs.File, error) { return root.Open(file) }, file, o.MaxFile)
		var doc Document
		if err == nil {
			doc, err = Parse(ctx, file, "", data, o)
		}
		if stopped := ctx.Err(); stopped != nil {
			yield(Document{}, stopped)
			return
		}
		p.Name, p.Files, p.Bytes = file, p.Files+1, p.Bytes+int64(len(data))
		if err != nil {
			p.Skipped++
			doc, err = Document{}, &Skipped{file, err}
		}
		if !yield(doc, err) {
			return
		}
		if o.Progress != nil {
			o.Progress(p)
		}
	}
}

// list returns the files of a folder in order of their names, and what cannot be listed.
func list(ctx context.Context, fsys fs.FS, o *Options) ([]string, []*Skipped, error) {
	l := &lister{fsys: fsys, o: o}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return l.visit(name, d, err)
	})
	return l.files, l.skipped, err
}

type lister struct {
	fsys    fs.FS
	o       *Options
	ignores ignores
	files   []string
	skipped []*Skipped
}

func (l *lister) visit(name string, d fs.DirEntry, err error) error {
	switch {
	case err != nil && name == ".":
		return err
	case err != nil:
		l.skipped = append(l.skipped, &Skipped{name, fileError(err)})
		return nil
	case name != "." && l.passOver(name, d.IsDir()):
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case d.IsDir():
		return l.enter(name)
	case !d.Type().IsRegular():
		return nil
	}
	if l.files = append(l.files, name); len(l.files) > l.o.MaxFiles {
		return failed(driver.ErrInvalid, "there are more than %d files", l.o.MaxFiles)
	}
	return nil
}

// enter reads the .gitignore of a folder. Where that cannot be done the folder is passed
// over: what it names nobody is to read.
func (l *lister) enter(dir string) error {
	name := path.Join(dir, ".gitignore")
	l.ignores = l.ignores.above(dir)
	if info, err := fs.Lstat(l.fsys, name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, err := readFile(func() (fs.File, error) { return l.fsys.Open(name) }, name, 1<<20)
	if err == nil {
		l.ignores, err = l.ignores.add(dir, text)
	}
	if err != nil {
		l.skipped = append(l.skipped, &Skipped{name, fmt.Errorf("all of its folder is: %w", err)})
		return fs.SkipDir
	}
	return nil
}

func (l *lister) passOver(name string, isDir bool) bool {
	b := path.Base(name)
	return strings.HasPrefix(b, ".") || isDir && strings.Contains(passed, " "+b+" ") ||
		l.ignores.match(name, isDir) || l.o.Ignore != nil && l.o.Ignore(name, isDir)
}

// readFile reads a file that is one: a pipe or a device would never end.
func readFile(open func() (fs.File, error), name string, limit int64) ([]byte, error) {
	f, err := open()
	if err != nil {
		return nil, fileError(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fileError(err)
	case !info.Mode().IsRegular():
		return nil, notFile(name)
	case info.Size() > limit:
		return nil, tooLong(name, limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fileError(err)
	}
	if int64(len(data)) > limit {
		return nil, tooLong(name, limit)
	}
	return data, nil
}

func tooLong(name string, limit int64) error {
	return failed(driver.ErrInvalid, "read %s: it is longer than %d bytes", name, limit)
}

func notFile(name string) error {
	return failed(driver.ErrUnsupported, "read %s: it is not a file", name)
}

// IsSkipped reports whether an error of [Load] is about one file of a folder, so that the
// rest goes on.
func IsSkipped(err error) bool {
	var s *Skipped
	return errors.As(err, &s)
}
