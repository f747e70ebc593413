package workspace

import (
	"compress/zlib"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Packs are on disk before they count. What is written besides, objects of small snapshots,
// layers, caches and names, is not waited for: a process that is killed loses nothing of it,
// but a machine that goes down may have written half. So whoever first opens a store after
// the machine was started looks at what was written last, and removes what is not whole.

// unsettled is how long it may take the system to write something down, and more.
const unsettled = 2 * time.Minute

// mend makes sure, once after each start of the machine, that what is half written does not
// pass for whole.
func (s *Store) mend(ctx context.Context) error {
	now := bootID()
	if now == "" || s.mendedAt(now) {
		return nil
	}
	held, err := s.enter(ctx, true)
	if err != nil {
		return err
	}
	defer held.Close()
	if s.mendedAt(now) {
		return nil // somebody else has done it meanwhile
	}
	if err := s.mendObjects(ctx); err != nil {
		return err
	}
	if err := s.mendLayers(ctx); err != nil {
		return err
	}
	return s.replace(s.own("boot"), []byte(now))
}

func (s *Store) mendedAt(boot string) bool {
	was, err := os.ReadFile(s.own("boot"))
	return err == nil && string(was) == boot
}

// mendObjects removes objects that are not whole, and then all stat caches: they may name
// what is gone.
func (s *Store) mendObjects(ctx context.Context) error {
	torn := false
	err := lastWritten(ctx, filepath.Join(s.objects.dir, "??", "*"), func(name string) error {
		if isWhole(name) {
			return nil
		}
		torn = true
		return os.Remove(name)
	})
	if err != nil || !torn {
		return err
	}
	return empty(s.own("cache"))
}

// mendLayers removes those whose files may be torn; they can be made again. Those in use
// are left, though nothing should be mounted any more.
func (s *Store) mendLayers(ctx context.Context) error {
	used, err := s.mounted()
	if err != nil {
		return err
	}
	return lastWritten(ctx, s.own("layers", "*", "*", "below"), func(name string) error {
		dir := filepath.Dir(name)
		if used[filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir)] {
			return nil
		}
		return removeAll(dir)
	})
}

// mounted are the layers of overlays that are mounted.
func (s *Store) mounted() (map[string]bool, error) {
	slots, err := s.slots()
	used := make(map[string]bool)
	for _, sl := range slots {
		if isOverlay(sl.Dir) {
			sl.uses(used)
		}
	}
	return used, err
}

// lastWritten calls f for the files that were written shortly before the last of them.
func lastWritten(ctx context.Context, pattern string, f func(name string) error) error {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	times, last := make([]time.Time, len(names)), time.Time{}
	for i, name := range names {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if times[i] = info.ModTime(); times[i].After(last) {
			last = times[i]
		}
	}
	for i, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !times[i].IsZero() && last.Sub(times[i]) < unsettled {
			if err := f(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// isWhole reports whether a loose object is what its name says.
func isWhole(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return false
	}
	defer z.Close()
	h := sha256.New()
	_, err = io.Copy(h, z)
	return err == nil && hex.EncodeToString(h.Sum(nil)) == filepath.Base(filepath.Dir(name))+filepath.Base(name)
}
