package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// openTop opens the directory that an operation is about.
func openTop(dir string) (*os.Root, string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, "", bare(err)
	}
	r, err := os.OpenRoot(abs)
	return r, abs, bare(err)
}

// openDir opens a directory right below another, and does not follow a link: os.Root would
// as long as it stays inside, but inside there may be a repository of the user's.
func openDir(r *os.Root, name string) (*os.Root, error) {
	sub, err := r.OpenRoot(name)
	if err != nil {
		if info, lerr := r.Lstat(name); lerr == nil && !info.IsDir() {
			return nil, errChanged
		}
		return nil, bare(err)
	}
	has, err := r.Lstat(name)
	if err == nil {
		var is fs.FileInfo
		if is, err = sub.Stat("."); err == nil && !os.SameFile(has, is) {
			err = errChanged
		}
	}
	if err != nil {
		sub.Close()
		return nil, bare(err)
	}
	return sub, nil
}

// openFile opens a regular file right in a directory for reading, and follows no link.
func openFile(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		if info, lerr := dir.Lstat(name); lerr == nil && !info.Mode().IsRegular() {
			return nil, nil, errChanged
		}
		return nil, nil, bare(err)
	}
	has, err := dir.Lstat(name)
	if err == nil {
		var is fs.FileInfo
		if is, err = f.Stat(); err == nil && is.Mode().IsRegular() && os.SameFile(has, is) {
			return f, is, nil
		}
	}
	f.Close()
	if err == nil {
		err = errChanged
	}
	return nil, nil, bare(err)
}

// maxIgnore is how much of a .gitignore is read.
const maxIgnore = 1 << 20

func readSmall(dir *os.Root, name string) ([]byte, error) {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	f, _, err := openFile(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxIgnore))
}

func readNames(r *os.Root) ([]string, error) {
	f, err := r.Open(".")
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, bare(err)
}

// bare takes the path off an error: whoever reports it knows a better one.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
