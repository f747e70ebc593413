package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// GCOptions say what is collected.
type GCOptions struct {
	// Grace keeps what is younger, though nothing keeps it by name. Zero is an hour, less
	// than zero is none.
	Grace time.Duration
}

// Collected is what a collection found.
type Collected struct {
	Orphans []Orphan
	Layers  int // removed
}

// Orphan is a fork whose process ended without closing it. It was removed; what was in it
// is kept under a name, if it differs from what the fork began with. With an error, it is
// still there, and the next collection tries again.
type Orphan struct {
	Dir      string
	Base     ID
	Snapshot ID     // what was in it, empty if that could not be read any more
	Kept     string // the name that keeps it
	Err      error  // why it, or something of it, is still there
}

// cacheRefs keep what stat caches name, while git collects.
const cacheRefs = "refs/rath-cache/"

// maxIdle is how long a stat cache stays that nobody uses.
const maxIdle = 30 * 24 * time.Hour

// GC removes what is not needed any more: snapshots that no name keeps, forks whose process
// is gone, what operations that were killed left, and layers that no fork uses. What stays
// is packed. It waits for operations that are under way, and they for it. Options may be nil.
func (s *Store) GC(ctx context.Context, options *GCOptions) (*Collected, error) {
	grace := time.Hour
	if options != nil && options.Grace != 0 {
		grace = max(options.Grace, 0)
	}
	held, err := s.enter(ctx, true)
	if err != nil {
		return nil, wrap("collect", s.dir, err)
	}
	defer held.Close()
	c, err := s.collect(ctx, grace, held)
	return c, wrap("collect", s.dir, err)
}

func (s *Store) collect(ctx context.Context, grace time.Duration, held *os.File) (*Collected, error) {
	c := &Collected{}
	if err := s.objects.packs.refresh(); err != nil {
		return c, err
	}
	if err := s.references.sweep(); err != nil {
		return c, err
	}
	used, err := s.collectSlots(ctx, c)
	if err != nil {
		return c, err
	}
	if c.Layers, err = s.collectLayers(used, grace); err != nil {
		return c, err
	}
	if err := s.collectTemporary(); err != nil {
		return c, err
	}
	if err := s.keepCaches(ctx); err != nil {
		return c, err
	}
	return c, s.repack(ctx, grace, held)
}

// repack has git pack what is kept, and remove the rest.
func (s *Store) repack(ctx context.Context, grace time.Duration, held *os.File) error {
	expire := fmt.Sprintf("%d.seconds.ago", int(grace.Seconds()))
	if grace == 0 {
		expire = "now"
	}
	for _, args := range [][]string{
		{"pack-refs", "--all"},
		{"repack", "-A", "-d", "-q", "--unpack-unreachable=" + expire},
		{"prune", "--expire=" + expire},
	} {
		cmd := s.git.command(ctx, args...)
		share(cmd, held)
		if err := s.git.run(ctx, cmd, nil, nil); err != nil {
			return errors.Join(s.damaged(ctx), err)
		}
	}
	return nil
}

// damaged looks for a name whose snapshot is not whole.
func (s *Store) damaged(ctx context.Context) error {
	names, err := s.references.list(strings.TrimSuffix(refs, "/"))
	if err != nil {
		return err
	}
	r := s.reader(ctx)
	defer r.close()
	for name, id := range names {
		t, err := r.tree(id)
		for _, e := range t {
			if err == nil && !e.isDir() {
				err = r.copy(io.Discard, e.id)
			}
		}
		if errors.Is(err, ErrUnknown) || errors.Is(err, ErrCorrupt) {
			return fmt.Errorf("%w: what %q keeps is not whole: %w", ErrCorrupt, strings.TrimPrefix(name, refs), err)
		}
	}
	return nil
}

// collectSlots removes those whose owner is gone, and returns the layers that others use.
func (s *Store) collectSlots(ctx context.Context, c *Collected) (used map[string]bool, err error) {
	slots, err := s.slots()
	if err != nil {
		return nil, err
	}
	for _, sl := range slots {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		dead, err := sl.takeOver()
		if err != nil {
			return nil, err
		}
		if !dead {
			continue
		}
		o, err := s.bury(ctx, sl)
		if err != nil {
			return nil, err
		}
		if sl.Dir != "" {
			c.Orphans = append(c.Orphans, o)
		}
	}
	return s.layersInUse()
}

// slots returns what slots there are, and what is noted of each.
func (s *Store) slots() (all []*slot, err error) {
	entries, err := os.ReadDir(s.own("forks"))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		sl := &slot{dir: s.own("forks", e.Name())}
		if data, err := os.ReadFile(filepath.Join(sl.dir, recordName)); err == nil {
			_ = json.Unmarshal(data, &sl.record) // one half written is of a fork that never was
		}
		all = append(all, sl)
	}
	return all, nil
}

// layersInUse are those that a slot has, by class and name.
func (s *Store) layersInUse() (map[string]bool, error) {
	slots, err := s.slots()
	if err != nil {
		return nil, err
	}
	used := make(map[string]bool)
	for _, sl := range slots {
		sl.uses(used)
	}
	return used, nil
}

// uses adds a slot's layers.
func (sl *slot) uses(used map[string]bool) {
	for _, id := range sl.Lower {
		used[sl.Class+"/"+id] = true
	}
}

// takeOver gets the lock of a slot whose owner is gone.
func (sl *slot) takeOver() (bool, error) {
	f, err := os.OpenFile(filepath.Join(sl.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	ok, err := tryLock(f, true)
	if !ok {
		f.Close()
		return false, err
	}
	sl.release = func() { f.Close() }
	return true, nil
}

// bury removes a fork that nobody has any more, and keeps what was done in it. Where that
// cannot be kept now, it stays as it is.
func (s *Store) bury(ctx context.Context, sl *slot) (Orphan, error) {
	o := Orphan{Dir: sl.Dir, Base: sl.ID}
	if sl.Dir != "" && !sl.Closed {
		o.Snapshot, o.Err = s.lastWords(ctx, sl)
		if o.Err == nil && o.Snapshot != "" && o.Snapshot != sl.ID {
			o.Kept = "orphans/" + filepath.Base(sl.dir)
			o.Err = s.references.set(refs+o.Kept, o.Snapshot)
		}
	}
	if ctx.Err() != nil {
		o.Err = context.Cause(ctx)
	}
	if o.Err != nil {
		sl.release()
		return o, ctx.Err()
	}
	o.Err = sl.remove(s)
	return o, nil
}

// lastWords is the snapshot of a fork that is to be removed. An overlay that went with the
// machine is mounted again. What was not filled to the end has nothing to say, nor what
// somebody has removed.
func (s *Store) lastWords(ctx context.Context, sl *slot) (ID, error) {
	if sl.Method != Overlay && !sl.Filled || len(sl.Lower) == 0 && sl.Method == Overlay {
		return "", nil
	}
	if sl.Method == Overlay && !isOverlay(sl.Dir) {
		if err := os.MkdirAll(sl.Dir, 0o755); err != nil {
			return "", err
		}
		if err := s.setLower(ctx, sl, sl.Class); err != nil {
			return "", err
		}
		if err := s.mountFork(sl); err != nil {
			return "", err
		}
	}
	if _, err := os.Lstat(sl.Dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	unbounded := *s
	unbounded.options.MaxFiles, unbounded.options.MaxBytes = 0, 0
	v, err := unbounded.view(ctx, sl.Dir)
	if err != nil {
		return "", err
	}
	v.root.Close()
	return v.ID, nil
}

// collectLayers removes those that no fork uses, nor another layer that stays.
func (s *Store) collectLayers(used map[string]bool, grace time.Duration) (n int, err error) {
	classes, err := os.ReadDir(s.own("layers"))
	if err != nil {
		return 0, err
	}
	for _, class := range classes {
		if !class.IsDir() {
			continue
		}
		all := s.layerIDs(class.Name())
		for _, id := range all {
			info, err := os.Stat(s.layerDir(class.Name(), id))
			if err != nil || time.Since(info.ModTime()) >= grace && !used[class.Name()+"/"+string(id)] {
				continue
			}
			used[class.Name()+"/"+string(id)] = true
			for _, below := range s.below(class.Name(), id) {
				used[class.Name()+"/"+string(below)] = true
			}
		}
		for _, id := range all {
			if used[class.Name()+"/"+string(id)] {
				continue
			}
			if err := removeAll(s.layerDir(class.Name(), id)); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// collectTemporary removes what was being written when its process ended: nothing is under
// way now.
func (s *Store) collectTemporary() error {
	err := empty(s.own("tmp"))
	for _, pattern := range []string{"tmp_*", "??/tmp_*", "pack/tmp_*", "pack/.tmp-*", "pack/pack-*.pack"} {
		left, _ := filepath.Glob(filepath.Join(s.objects.dir, filepath.FromSlash(pattern)))
		for _, name := range left {
			if base, ok := strings.CutSuffix(name, ".pack"); ok && exists(base+".idx") {
				continue
			}
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	return err
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// keepCaches makes references of what stat caches name, and drops caches that are of no
// more use.
func (s *Store) keepCaches(ctx context.Context) error {
	names, err := filepath.Glob(s.own("cache", "*"))
	if err != nil {
		return err
	}
	gone, err := s.references.list(strings.TrimSuffix(cacheRefs, "/"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if filepath.Ext(name) == ".lock" {
			continue
		}
		info, err := os.Stat(name)
		c := loadCache(name)
		if err != nil || time.Since(info.ModTime()) > maxIdle || s.known(ctx, c.id) != nil {
			_ = os.Remove(name)
			continue
		}
		ref := cacheRefs + filepath.Base(name)
		delete(gone, ref)
		if err := s.references.set(ref, c.id); err != nil {
			return err
		}
	}
	for ref := range gone {
		if err := s.references.drop(ref); err != nil {
			return err
		}
	}
	return nil
}
