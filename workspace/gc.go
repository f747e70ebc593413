package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
// is kept under a name, if it differs from what the fork began with.
type Orphan struct {
	Dir      string
	Base     ID
	Snapshot ID     // what was in it, empty if that could not be read any more
	Kept     string // the name that keeps it
	Err      error  // why something was left behind
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
	release, err := lock(ctx, s.own("lock"), true)
	if err != nil {
		return nil, wrap("collect", s.dir, err)
	}
	defer release()
	c, err := s.collect(ctx, grace)
	return c, wrap("collect", s.dir, err)
}

func (s *Store) collect(ctx context.Context, grace time.Duration) (*Collected, error) {
	c := &Collected{}
	if err := s.objects.packs.refresh(); err != nil {
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
	expire := fmt.Sprintf("%d.seconds.ago", int(grace.Seconds()))
	if grace == 0 {
		expire = "now"
	}
	for _, args := range [][]string{
		{"pack-refs", "--all"},
		{"repack", "-A", "-d", "-q", "--unpack-unreachable=" + expire},
		{"prune", "--expire=" + expire},
	} {
		if _, err := s.git.output(ctx, args...); err != nil {
			return c, err
		}
	}
	return c, nil
}

// collectSlots removes those whose owner is gone, and returns the layers that others use.
func (s *Store) collectSlots(ctx context.Context, c *Collected) (used map[string]bool, err error) {
	used = make(map[string]bool)
	entries, err := os.ReadDir(s.own("forks"))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		sl := &slot{dir: s.own("forks", e.Name())}
		if data, err := os.ReadFile(filepath.Join(sl.dir, recordName)); err == nil {
			_ = json.Unmarshal(data, &sl.record) // one half written is of a fork that never was
		}
		dead, err := sl.takeOver()
		if err != nil {
			return nil, err
		}
		if !dead {
			for _, id := range sl.Lower {
				used[sl.Class+"/"+id] = true
			}
			continue
		}
		o, err := s.bury(ctx, sl, e.Name())
		if err != nil {
			return nil, err
		}
		if sl.Dir != "" {
			c.Orphans = append(c.Orphans, o)
		}
	}
	return used, nil
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

// bury removes a fork that nobody has any more, and keeps what was done in it.
func (s *Store) bury(ctx context.Context, sl *slot, name string) (Orphan, error) {
	o := Orphan{Dir: sl.Dir, Base: sl.ID}
	if sl.Dir != "" {
		o.Snapshot, o.Err = s.lastWords(ctx, sl)
		if o.Snapshot != "" && o.Snapshot != sl.ID {
			o.Kept = "orphans/" + name
			if _, err := s.git.output(ctx, "update-ref", refs+o.Kept, string(o.Snapshot)); err != nil {
				sl.release()
				return o, err
			}
		}
	}
	if ctx.Err() != nil {
		sl.release()
		return o, context.Cause(ctx)
	}
	o.Err = errors.Join(o.Err, sl.remove(s))
	return o, nil
}

// lastWords is the snapshot of a fork that is to be removed. An overlay that went with the
// machine is mounted again. What was not filled to the end has nothing to say.
func (s *Store) lastWords(ctx context.Context, sl *slot) (ID, error) {
	if sl.Method == Overlay && !isOverlay(sl.Dir) {
		if len(sl.Lower) == 0 {
			return "", nil
		}
		if err := s.mountFork(sl); err != nil {
			return "", err
		}
	}
	if sl.Method != Overlay {
		if _, err := os.Stat(s.cachePath(sl.Dir)); errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
	}
	v, err := s.view(ctx, sl.Dir)
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
	for _, pattern := range []string{"tmp_obj_*", "pack/tmp_pack_*"} {
		left, _ := filepath.Glob(filepath.Join(s.objects.dir, filepath.FromSlash(pattern)))
		for _, name := range left {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}

// keepCaches makes references of what stat caches name, and drops caches that are of no
// more use.
func (s *Store) keepCaches(ctx context.Context) error {
	names, err := filepath.Glob(s.own("cache", "*"))
	if err != nil {
		return err
	}
	var commands bytes.Buffer
	stays := make(map[string]bool)
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
		stays[ref] = true
		fmt.Fprintf(&commands, "update %s %s\n", ref, c.id)
	}
	out, err := s.git.output(ctx, "for-each-ref", "--format=%(refname)", strings.TrimSuffix(cacheRefs, "/"))
	if err != nil {
		return err
	}
	for ref := range strings.FieldsSeq(string(out)) {
		if !stays[ref] {
			fmt.Fprintf(&commands, "delete %s\n", ref)
		}
	}
	return s.git.run(ctx, s.git.command(ctx, "update-ref", "--stdin"), &commands, nil)
}
