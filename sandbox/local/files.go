package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox/driver"
)

// relative turns a name into a clean slash path below the workspace.
func (b *box) relative(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%q: %w", name, fs.ErrInvalid)
	}
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return b.rebase(filepath.Clean(name))
	}
	name = filepath.Clean(name)
	if !filepath.IsLocal(name) {
		return "", driver.ErrEscape
	}
	return filepath.ToSlash(name), nil
}

// rebase makes an absolute name relative, whether it goes by the directory's own name, by
// the one it was opened under, or by those of the directories it is a fork of.
func (b *box) rebase(name string) (string, error) {
	for _, dir := range append([]string{b.dir, b.named}, b.alias...) {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), nil
		}
	}
	return "", driver.ErrEscape
}

const maxLinks = 40 // as the kernel has it

// Canonical resolves symbolic links one component at a time. Its answer is only as
// good as the moment; what opens the file is [os.Root], which no swapped link deceives.
func (b *box) Canonical(name string) (string, error) {
	rel, err := b.relative(name)
	if err != nil {
		return "", err
	}
	todo := strings.Split(rel, "/")
	done := "."
	for links := 0; len(todo) > 0; {
		next := path.Join(done, todo[0])
		todo = todo[1:]
		info, err := b.root.Lstat(filepath.FromSlash(next))
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = next // what does not exist has no links to resolve
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("too many levels of symbolic links")
		}
		target, err := b.follow(next)
		if err != nil {
			return "", err
		}
		done, todo = ".", append(strings.Split(target, "/"), todo...)
	}
	return done, nil
}

// follow returns where a symbolic link leads, relative to the workspace.
func (b *box) follow(link string) (string, error) {
	target, err := b.root.Readlink(filepath.FromSlash(link))
	if err != nil {
		return "", plain(err)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(b.dir, filepath.FromSlash(path.Dir(link)), target)
	}
	return b.rebase(target)
}

// file returns the name to hand to the root, unless it is hidden.
func (b *box) file(name string) (string, error) {
	name, err := b.Canonical(name)
	if err == nil {
		err = b.visible(name)
	}
	return filepath.FromSlash(name), err
}

// link returns the name of what a name stands for itself: only the links on the way to
// it are resolved.
func (b *box) link(name string) (string, error) {
	rel, err := b.relative(name)
	if err != nil || rel == "." {
		return rel, err
	}
	dir, err := b.Canonical(path.Dir(rel))
	if err != nil {
		return "", err
	}
	return path.Join(dir, path.Base(rel)), nil
}

func (b *box) Read(_ context.Context, name string, offset int64, max int) ([]byte, int64, error) {
	name, err := b.file(name)
	if err != nil {
		return nil, 0, err
	}
	f, err := b.root.OpenFile(name, os.O_RDONLY|nonblock, 0) // a FIFO must not hang us
	if err != nil {
		return nil, 0, plain(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, 0, plain(err)
	case !info.Mode().IsRegular():
		return nil, 0, driver.ErrNotRegular
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, 0, plain(err)
	}
	var r io.Reader = f
	if max >= 0 {
		r = io.LimitReader(f, int64(max))
	}
	data, err := io.ReadAll(r)
	return data, info.Size(), plain(err)
}

func (b *box) Write(_ context.Context, name string, data []byte) error {
	name, err := b.file(name)
	if err != nil {
		return err
	}
	if err := b.changeable(filepath.ToSlash(name)); err != nil {
		return err
	}
	mode, err := b.modeOf(name)
	if err != nil {
		return plain(err)
	}
	if err := b.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return plain(err)
	}
	temp := filepath.Join(filepath.Dir(name), ".rath-"+uuid.NewString())
	if err := b.writeNew(temp, data, mode); err != nil {
		_ = b.root.Remove(temp)
		return plain(err)
	}
	if err := b.root.Rename(temp, name); err != nil {
		_ = b.root.Remove(temp)
		return plain(err)
	}
	return nil
}

// modeOf returns the mode for a file that is to be written: its own, if it is there. It
// refuses one that may not be written to, as replacing it would not.
func (b *box) modeOf(name string) (fs.FileMode, error) {
	info, err := b.root.Lstat(name)
	if err != nil {
		return 0o644, nil // there is none; where there is, making one will fail
	}
	if !info.Mode().IsRegular() {
		return 0, driver.ErrNotRegular
	}
	f, err := b.root.OpenFile(name, os.O_WRONLY|nonblock, 0) // a FIFO in its place must not hang us
	switch {
	case err == nil:
		err = f.Close()
	case !errors.Is(err, fs.ErrPermission):
		err = nil // a program that runs, say, can be replaced
	}
	return info.Mode().Perm(), err
}

func (b *box) writeNew(name string, data []byte, mode fs.FileMode) error {
	f, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode) // the umask does not apply to a file that is replaced
	}
	return errors.Join(err, f.Close())
}

func (b *box) List(_ context.Context, name string) ([]driver.Entry, error) {
	name, err := b.file(name)
	if err != nil {
		return nil, err
	}
	found, err := fs.ReadDir(b.root.FS(), filepath.ToSlash(name))
	if err != nil {
		return nil, plain(err)
	}
	secrets := b.secrets()
	entries := make([]driver.Entry, 0, len(found))
	for _, d := range found {
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone since
		}
		if err != nil {
			return nil, plain(err)
		}
		e := entry(path.Join(filepath.ToSlash(name), d.Name()), info)
		if !isSecret(secrets, e.Path, info) {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func (b *box) Stat(_ context.Context, name string) (driver.Entry, error) {
	name, err := b.file(name)
	if err != nil {
		return driver.Entry{}, err
	}
	info, err := b.root.Stat(name)
	if err != nil {
		return driver.Entry{}, plain(err)
	}
	return entry(filepath.ToSlash(name), info), nil
}

// Remove deletes a symbolic link itself, not what it leads to.
func (b *box) Remove(_ context.Context, name string) error {
	name, err := b.link(name)
	if err != nil {
		return err
	}
	if name == "." {
		return errors.New("the workspace itself cannot be removed")
	}
	if err := b.removable(name); err != nil {
		return err
	}
	if err := b.disposable(name); err != nil {
		return err
	}
	name = filepath.FromSlash(name)
	if _, err := b.root.Lstat(name); err != nil {
		return plain(err)
	}
	return plain(b.root.RemoveAll(name))
}

func entry(name string, info fs.FileInfo) driver.Entry {
	return driver.Entry{
		Name: path.Base(name), Path: name, IsDir: info.IsDir(),
		Size: info.Size(), Mode: info.Mode(), ModTime: info.ModTime(),
	}
}

// plain takes from an error of [os.Root] what the portable type says itself, and gives
// its refusal to leave the root our name.
func plain(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	if err != nil && strings.Contains(err.Error(), "path escapes from parent") { // os does not export it
		return driver.ErrEscape
	}
	return err
}
