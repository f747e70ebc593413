package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Method is how a fork comes by its files.
type Method string

// The ways to fork. An overlay costs the same whatever the size, and needs the right to
// mount: root's, or that of whoever runs in a user namespace of its own. A reflink shares
// the content of files where the file system can; elsewhere they are copied.
const (
	Overlay Method = "overlay"
	Reflink Method = "reflink"
	Copy    Method = "copy"
)

// ForkOptions say where a fork is and how it may be made.
type ForkOptions struct {
	Dir     string   // a directory that is empty or does not exist; empty: one in the store
	Methods []Method // tried in order; nil: all, the cheapest first
}

// Fork is a directory that began as a snapshot. What happens in it does not touch anything
// else. It lives until it is closed; that of a process which ended without is found by GC.
type Fork struct {
	ID       ID     // the snapshot
	Dir      string // absolute
	Method   Method
	Declined error // why it was not a cheaper method, nil if there is none

	store *Store
	slot  *slot
	once  sync.Once
	err   error
}

// Fork makes a directory with the content of a snapshot. Options may be nil.
func (s *Store) Fork(ctx context.Context, id ID, options *ForkOptions) (*Fork, error) {
	release, err := s.use(ctx)
	if err != nil {
		return nil, wrap("fork", short(id), err)
	}
	defer release()
	var o ForkOptions
	if options != nil {
		o = *options
	}
	if o.Methods == nil {
		o.Methods = []Method{Overlay, Reflink, Copy}
	}
	f, err := s.fork(ctx, id, o)
	return f, wrap("fork", short(id), err)
}

func (s *Store) fork(ctx context.Context, id ID, o ForkOptions) (f *Fork, err error) {
	if err := s.known(ctx, id); err != nil {
		return nil, err
	}
	sl, err := s.newSlot()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, sl.remove(s))
		}
	}()
	dir := o.Dir
	if dir == "" {
		dir = filepath.Join(sl.dir, "files")
	}
	if err := sl.claim(s, dir, id); err != nil {
		return nil, err
	}
	f = &Fork{ID: id, Dir: sl.Dir, store: s, slot: sl}
	for _, f.Method = range o.Methods {
		err := s.populate(ctx, f)
		if err == nil {
			return f, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f.Declined = errors.Join(f.Declined, fmt.Errorf("%s: %w", f.Method, err))
	}
	return nil, fmt.Errorf("%w: %w", ErrNoFork, f.Declined)
}

// populate fills a fork by its method.
func (s *Store) populate(ctx context.Context, f *Fork) error {
	f.slot.Method = f.Method
	if f.Method == Overlay {
		return s.overlay(ctx, f)
	}
	if err := f.slot.save(s); err != nil {
		return err
	}
	var err error
	switch f.Method {
	case Reflink:
		err = s.reflink(ctx, f)
	case Copy:
		err = s.fill(ctx, f.ID, f.Dir, nil)
	default:
		err = fmt.Errorf("no such method: %q", f.Method)
	}
	if err != nil {
		return err
	}
	f.slot.Filled = true
	return f.slot.save(s)
}

// fill writes a snapshot into an empty directory, and leaves a cache for its snapshots.
func (s *Store) fill(ctx context.Context, id ID, dir string, clone func(*os.File, string) error) error {
	root, dir, err := openTop(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	r := s.reader(ctx)
	defer r.close()
	want, err := r.tree(id)
	if err != nil {
		return err
	}
	c := &changer{ctx: ctx, want: want, from: r, clone: clone, fresh: true}
	if err := c.run(root); err != nil {
		return errors.Join(err, empty(dir))
	}
	known, err := prime(root, id, want)
	if err != nil {
		return err
	}
	return s.saveCache(s.cachePath(dir), known)
}

// prime makes the cache of a directory that was just filled.
func prime(root *os.Root, id ID, t tree) (*cache, error) {
	c := &cache{time.Now(), id, make(map[string]cached, len(t))}
	at := descent{root: root}
	defer at.close()
	for _, p := range t.sorted() {
		e := t[p]
		if e.isDir() {
			c.entries[p] = cached{entry: e}
			continue
		}
		dir, name, err := at.parent(p)
		if err != nil {
			return nil, err
		}
		info, err := dir.Lstat(name)
		if err != nil {
			return nil, &entryError{p, bare(err)}
		}
		c.entries[p] = cached{e, statOf(info)}
	}
	return c, nil
}

// empty removes what is in a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		err = errors.Join(err, removeAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// removeAll removes directories too that may not be written to.
func removeAll(name string) error {
	if err := os.RemoveAll(name); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), filepath.Base(name), func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(name)
}

// reflink fills a fork from a plain copy in the store, sharing the content of all files.
func (s *Store) reflink(ctx context.Context, f *Fork) error {
	if err := s.canClone(f.Dir); err != nil {
		return err
	}
	layer, err := s.plainLayer(ctx, f.ID)
	if err != nil {
		return err
	}
	from, err := os.OpenRoot(layer)
	if err != nil {
		return err
	}
	defer from.Close()
	var failed error
	err = s.fill(ctx, f.ID, f.Dir, func(to *os.File, p string) error {
		if failed == nil {
			failed = cloneFrom(to, from, p)
		}
		return failed
	})
	if err == nil && failed != nil {
		f.Method, f.slot.Method = Copy, Copy // some could not be shared
		f.Declined = errors.Join(f.Declined, fmt.Errorf("%s: %w", Reflink, failed))
	}
	return err
}

func cloneFrom(to *os.File, from *os.Root, p string) error {
	f, err := from.Open(filepath.FromSlash(p))
	if err != nil {
		return err
	}
	defer f.Close()
	return cloneFile(to, f)
}

// canClone tries whether a file of the store can be shared with a directory.
func (s *Store) canClone(dir string) error {
	from, err := os.CreateTemp(s.own("tmp"), "clone-*")
	if err != nil {
		return err
	}
	defer os.Remove(from.Name())
	defer from.Close()
	to, err := os.CreateTemp(dir, tempPrefix+"*")
	if err != nil {
		return err
	}
	defer os.Remove(to.Name())
	defer to.Close()
	if _, err := from.WriteString("shared"); err != nil {
		return err
	}
	return cloneFile(to, from)
}

// Close removes the fork and what is in it. Processes that still have files of an overlay
// open keep those until they close them.
func (f *Fork) Close() error {
	f.once.Do(func() {
		release, err := f.store.use(context.Background())
		if err == nil {
			defer release()
			f.slot.Closed = true
			_ = f.slot.save(f.store) // should this be killed before it ends
			err = f.slot.remove(f.store)
		}
		f.err = wrap("close fork", f.Dir, err)
	})
	return f.err
}
