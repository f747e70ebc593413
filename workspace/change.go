package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"
)

// changer turns one tree into another, in a directory. What is in neither is left.
type changer struct {
	*guard     // of a directory that others write to; else nil
	ctx        context.Context
	have, want tree
	from       *reader
	clone      func(to *os.File, p string) error // tries to share the content of a path; may be nil
	fresh      bool                              // nobody sees the directory yet: files need no other name first
	at         descent
	loose      map[string]fs.FileMode // directories whose permissions are to be set at the end
}

func (c *changer) run(root *os.Root) error {
	c.loose = make(map[string]fs.FileMode)
	c.at = descent{root: root, entered: c.entered}
	defer c.at.close()
	err := c.check(root)
	for _, step := range []func() error{c.remove, c.add} {
		if err == nil {
			err = step()
		}
	}
	c.ctx = context.WithoutCancel(c.ctx)
	return cmp.Or(err, c.settle())
}

// each calls f for paths until one fails.
func (c *changer) each(paths []string, f func(p string) error) error {
	for _, p := range paths {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		if err := f(p); err != nil {
			return &entryError{p, bare(err)}
		}
	}
	return nil
}

// check finds out, before anything is changed, whether something is not as it was seen.
func (c *changer) check(root *os.Root) error {
	if c.guard == nil {
		return nil
	}
	at := descent{root: root}
	defer at.close()
	return c.each(slices.Sorted(maps.Keys(c.have)), func(p string) error {
		has, e := c.have[p], c.want[p]
		if has == e || has.isDir() {
			return nil
		}
		dir, name, err := at.parent(p)
		if err == nil {
			err = c.asSeen(dir, name, p)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return errChanged
		}
		return err
	})
}

// remove takes away what is not wanted, what is in a directory before the directory.
func (c *changer) remove() error {
	var paths []string
	for p, has := range c.have {
		if e, ok := c.want[p]; !ok || e.isDir() != has.isDir() {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	slices.Reverse(paths)
	return c.each(paths, func(p string) error {
		dir, name, err := c.at.parent(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		c.at.leave(p)
		err = c.discard(dir, name, p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case isNotEmpty(err) && c.want[p] == entry{}:
			return nil // it holds what is left alone
		case isNotEmpty(err):
			return ErrBlocked
		case err == nil:
			delete(c.loose, p)
			c.note(p, entry{})
		}
		return err
	})
}

func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}

// add writes what differs, directories before what is in them.
func (c *changer) add() error {
	var paths []string
	for p, e := range c.want {
		if c.have[p] != e {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return c.each(paths, func(p string) error {
		dir, name, err := c.at.parent(p)
		if errors.Is(err, fs.ErrNotExist) {
			return errChanged
		}
		if err == nil {
			err = c.put(dir, name, p)
		}
		if err == nil {
			c.note(p, c.want[p])
		}
		return err
	})
}

func (c *changer) put(dir *os.Root, name, p string) error {
	e, has := c.want[p], c.have[p]
	switch {
	case e.isDir():
		return c.makeDir(dir, name, p, e, has)
	case e.isFile() && has.isFile() && has.id == e.id:
		if err := c.asSeen(dir, name, p); err != nil {
			return err
		}
		if chmod(dir, name, e.perm()) == nil {
			return nil
		}
	}
	return c.place(dir, name, p, e)
}

// discard removes a file, link or empty directory, if it is as it was seen.
func (c *changer) discard(dir *os.Root, name, p string) error {
	if c.guard == nil || c.have[p].isDir() {
		return dir.Remove(name)
	}
	return c.guard.discard(dir, name, p)
}

// makeDir makes a directory that can be written to; the permissions come at the end.
func (c *changer) makeDir(dir *os.Root, name, p string, e, has entry) error {
	defer func() { c.loose[p] = e.perm() }()
	if has.isDir() {
		return c.entered(dir, name, p)
	}
	err := dir.Mkdir(name, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := dir.Lstat(name); err != nil || !info.IsDir() {
		return ErrBlocked
	}
	return c.entered(dir, name, p) // it is there for what is left alone
}

// place writes a file or link beside its place and moves it there.
func (c *changer) place(dir *os.Root, name, p string, e entry) error {
	if c.fresh {
		return c.create(dir, name, p, e)
	}
	const kept = fs.ModeType &^ fs.ModeSymlink
	if info, err := dir.Lstat(name); err == nil && info.Mode()&kept != 0 {
		return ErrBlocked
	}
	temp := tempPrefix + rand.Text()
	err := c.create(dir, temp, p, e)
	switch {
	case err != nil:
	case c.guard == nil:
		err = dir.Rename(temp, name)
	case c.have[p] == entry{} || c.have[p].isDir():
		return c.occupy(dir, temp, name)
	default:
		return c.replace(dir, temp, name, p)
	}
	if err != nil {
		_ = dir.Remove(temp)
	}
	return err
}

// create makes a file or link under a name that is free.
func (c *changer) create(dir *os.Root, name, p string, e entry) error {
	if e.isLink() {
		target, err := c.from.bytes("blob", e.id)
		if err != nil {
			return err
		}
		return dir.Symlink(string(target), name)
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = c.fill(f, p, e.id); err == nil {
		err = f.Chmod(e.perm())
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (c *changer) fill(f *os.File, p string, id oid) error {
	if c.clone != nil && c.clone(f, p) == nil {
		return nil
	}
	return c.from.copy(f, id)
}

// tempPrefix begins the names of files that are not yet in their place. Such names are no
// part of a snapshot.
const tempPrefix = ".rath-tmp-"

// settle gives directories their permissions, the deepest first.
func (c *changer) settle() error {
	c.at.entered = nil
	paths := make([]string, 0, len(c.loose))
	for p := range c.loose {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	slices.Reverse(paths)
	return c.each(paths, func(p string) error {
		dir, name, err := c.at.parent(p)
		if err == nil {
			c.at.leave(p)
			err = chmod(dir, name, c.loose[p])
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // somebody has removed it
		}
		return err
	})
}

// entered makes a directory that must be changed one that can be.
func (c *changer) entered(dir *os.Root, name, p string) error {
	info, err := dir.Lstat(name)
	if err != nil || !info.IsDir() || info.Mode()&0o700 == 0o700 {
		return err
	}
	if _, set := c.loose[p]; !set {
		c.loose[p] = info.Mode().Perm()
	}
	return dir.Chmod(name, info.Mode().Perm()|0o700)
}

// chmod sets permissions of what it has opened, so that no link is followed.
func chmod(dir *os.Root, name string, perm fs.FileMode) error {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	has, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	is, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(has, is) {
		return errChanged
	}
	if is.Mode().Perm() == perm {
		return nil
	}
	return f.Chmod(perm)
}
