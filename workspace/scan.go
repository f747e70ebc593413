package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Skipped is something that a snapshot leaves out.
type Skipped struct {
	Path string
	Mode fs.FileMode // of what is no file, link or directory
	Err  error       // why something was not read, nil if it is only of no kind that is kept
}

// errChanged is something that is not any more what it was a moment ago.
var errChanged = errors.New("it changes while it is read")

// attempts is how often something that changes is looked at.
const attempts = 3

// scan reads a directory into objects, as far as the cache does not know them: first it
// looks at everything, then it reads what it has to.
type scan struct {
	ctx      context.Context
	options  Options
	old      *cache
	excluded map[string]bool
	workers  *errgroup.Group

	mu       sync.Mutex
	found    map[string]cached
	stale    []string // files to be read
	size     size     // of all that was found
	temps    []string
	changed  bool // from the snapshot that the cache was left by
	fresh    int  // files that were read
	skipped  []Skipped
	unstable []string
}

// newScan finds out what is there, looking into several directories at a time.
func (s *Store) newScan(ctx context.Context, root *os.Root, dir string, old *cache) (*scan, error) {
	sc := &scan{options: s.options, old: old, excluded: s.excluded(dir), found: make(map[string]cached, len(old.entries))}
	sc.workers, sc.ctx = errgroup.WithContext(ctx)
	sc.workers.SetLimit(runtime.GOMAXPROCS(0))
	sc.workers.Go(func() error { return sc.dir(root, "", nil) })
	err := sc.workers.Wait()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	sc.ctx = ctx
	return sc, err
}

// block is how many files a worker takes at a time.
const block = 16

// contents reads the files that must be read, several at a time.
func (s *scan) contents(root *os.Root, to sink) error {
	slices.Sort(s.stale)
	workers, ctx := errgroup.WithContext(s.ctx)
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), 1+len(s.stale)/block) {
		workers.Go(func() error {
			r := fileReader{scan: s, ctx: ctx, to: to, at: descent{root: root}}
			defer r.at.close()
			for {
				i := int(next.Add(block)) - block
				if i >= len(s.stale) {
					return nil
				}
				if err := r.files(s.stale[i:min(i+block, len(s.stale))]); err != nil {
					return err
				}
			}
		})
	}
	err := workers.Wait()
	if s.ctx.Err() != nil {
		err = context.Cause(s.ctx)
	}
	s.changed = s.changed || len(s.found) != len(s.old.entries)
	slices.SortFunc(s.skipped, func(a, b Skipped) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(s.unstable)
	return err
}

// dir scans what is in a directory.
func (s *scan) dir(r *os.Root, dir string, ig ignores) error {
	names, err := readNames(r)
	if err != nil {
		return err
	}
	if _, has := slices.BinarySearch(names, ".gitignore"); has && !s.options.Ignored {
		if text, err := readSmall(r, ".gitignore"); err == nil {
			ig = ig.with(dir, text)
		}
	}
	for _, name := range names {
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		p := join(dir, name)
		if !validName(name) || s.excluded[p] {
			continue
		}
		if strings.HasPrefix(name, tempPrefix) {
			s.temp(p)
			continue
		}
		if err := s.retry(r, name, p, ig); err != nil {
			return err
		}
	}
	return nil
}

// retry looks at an entry until it stands still. What vanishes was not there; what cannot
// be read fails or is reported, as the options say.
func (s *scan) retry(r *os.Root, name, p string, ig ignores) (err error) {
	for range attempts {
		if err = s.visit(r, name, p, ig); !errors.Is(err, errChanged) {
			break
		}
	}
	return s.excuse(p, err)
}

// excuse decides what an error of an entry means. Those of the store, and of what is below
// the entry, are final.
func (s *scan) excuse(p string, err error) error {
	var final *entryError
	switch {
	case err == nil, errors.As(err, &final), errors.Is(err, ErrTooLarge), s.ctx.Err() != nil:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, errChanged), errors.Is(err, fs.ErrPermission) && s.options.Unreadable:
		s.skip(Skipped{Path: p, Err: err})
		return nil
	}
	return &entryError{p, err}
}

// entryError is what went wrong with an entry.
type entryError struct {
	path string
	err  error
}

func (e *entryError) Error() string { return fmt.Sprintf("%q: %v", e.path, e.err) }
func (e *entryError) Unwrap() error { return e.err }

func (s *scan) skip(what Skipped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipped = append(s.skipped, what)
}

func (s *scan) temp(p string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.temps = append(s.temps, p)
}

func (s *scan) visit(r *os.Root, name, p string, ig ignores) error {
	info, err := r.Lstat(name)
	if err != nil {
		return bare(err)
	}
	if ig.match(p, info.IsDir()) {
		return nil
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		return s.enter(r, name, p, info, ig)
	case 0:
		return s.content(p, modeOf(info, typeFile, plainFile), info)
	case fs.ModeSymlink:
		return s.content(p, typeLink, info)
	}
	s.skip(Skipped{Path: p, Mode: info.Mode()})
	return nil
}

// enter scans a directory below, beside this one if a worker is free.
func (s *scan) enter(r *os.Root, name, p string, info fs.FileInfo, ig ignores) error {
	sub, err := openDir(r, name)
	if err != nil {
		return err
	}
	if err := s.account(p, 0); err != nil {
		sub.Close()
		return err
	}
	s.add(p, cached{entry: entry{mode: modeOf(info, typeDir, plainDir)}}, false)
	below := func() error {
		defer sub.Close()
		return s.excuse(p, s.dir(sub, p, ig))
	}
	if s.workers.TryGo(below) {
		return nil
	}
	return below()
}

// add notes an entry and whether it was read to know it.
func (s *scan) add(p string, c cached, read bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[p] = c
	if s.old.entries[p].entry != c.entry {
		s.changed = true
	}
	if read {
		s.fresh++
	}
}

// account counts what is found, and stops the scan where it is too much.
func (s *scan) account(p string, bytes int64) error {
	if s.options.MaxFiles == 0 && s.options.MaxBytes == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size.add(p, bytes)
	return s.size.check(s.options)
}

func modeOf(info fs.FileInfo, kind, plain uint32) uint32 {
	if permissions == 0 {
		return plain
	}
	return kind | uint32(info.Mode())&permissions
}

// content notes a file or link, as known or to be read.
func (s *scan) content(p string, mode uint32, info fs.FileInfo) error {
	if err := s.account(p, info.Size()); err != nil {
		return err
	}
	st := statOf(info)
	if id, ok := s.old.lookup(p, mode, st); ok {
		s.add(p, cached{entry{mode, id}, st}, false)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = append(s.stale, p)
	return nil
}

// fileReader reads files and links into objects. Each worker has one.
type fileReader struct {
	*scan
	ctx context.Context
	to  sink
	at  descent
}

func (r *fileReader) files(paths []string) error {
	for _, p := range paths {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		dir, name, err := r.at.parent(p)
		if err == nil {
			err = r.read(dir, name, p)
		}
		if err = r.excuse(p, err); err != nil {
			return err
		}
	}
	return nil
}

// read reads a file until it stands still meanwhile. One that never does is taken as it
// was read, and reported.
func (r *fileReader) read(dir *os.Root, name, p string) error {
	for n := 1; ; n++ {
		c, err := r.once(dir, name, p)
		again := errors.Is(err, errChanged)
		switch {
		case again && n < attempts:
			continue
		case again && c.id != oid{}:
			r.mu.Lock()
			r.unstable = append(r.unstable, p)
			r.mu.Unlock()
			c.stat = stat{}
		case err != nil:
			return err
		}
		r.add(p, c, true)
		return nil
	}
}

// once reads a file or link once. With errChanged it returns what it read, if anything.
func (r *fileReader) once(dir *os.Root, name, p string) (c cached, err error) {
	info, err := dir.Lstat(name)
	switch {
	case err != nil:
		return c, bare(err)
	case info.Mode().Type() == fs.ModeSymlink:
		return r.target(dir, name, p, info)
	case !info.Mode().IsRegular():
		return c, errChanged
	}
	f, before, err := openFile(dir, name)
	if err != nil {
		return c, err
	}
	defer f.Close()
	c.stat = statOf(before)
	c.mode = modeOf(before, typeFile, plainFile)
	c.id, err = r.to.stream(r.ctx, "blob", before.Size(), f)
	if errors.Is(err, errShort) {
		return cached{}, errChanged
	}
	if err != nil {
		return c, &entryError{p, err}
	}
	if after, err := f.Stat(); err != nil || statOf(after) != c.stat {
		return c, errChanged
	}
	return c, nil
}

func (r *fileReader) target(dir *os.Root, name, p string, info fs.FileInfo) (c cached, err error) {
	target, err := dir.Readlink(name)
	if err != nil {
		return c, errChanged
	}
	c.stat, c.mode = statOf(info), typeLink
	if c.id, err = r.to.put("blob", []byte(target)); err != nil {
		return c, &entryError{p, err}
	}
	return c, nil
}

// tree is the scan's result.
func (s *scan) tree() tree { return treeOf(s.found) }

func treeOf(found map[string]cached) tree {
	t := make(tree, len(found))
	for p, c := range found {
		t[p] = c.entry
	}
	return t
}
