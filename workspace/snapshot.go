package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// Snapshot is what a directory was at a time.
type Snapshot struct {
	ID       ID
	Entries  int       // files, links and directories in it
	Read     int       // of them, those whose content had to be read
	Skipped  []Skipped // what is left out, and why
	Unstable []string  // files that kept changing while they were read, taken as they were read
}

// Snapshot keeps what is in a directory. Only what may have changed since the last time is
// read. A snapshot stays for an hour at least, and as long as a name keeps it: see Keep.
func (s *Store) Snapshot(ctx context.Context, dir string) (*Snapshot, error) {
	release, err := s.use(ctx)
	if err != nil {
		return nil, wrap("snapshot", dir, err)
	}
	defer release()
	v, err := s.view(ctx, dir)
	if err != nil {
		return nil, wrap("snapshot", dir, err)
	}
	defer v.root.Close()
	return &v.Snapshot, nil
}

// view is a directory that was just looked at, and is still open.
type view struct {
	Snapshot
	root  *os.Root
	dir   string
	at    time.Time         // when that began
	found map[string]cached // what is there
	temps []string          // what a restore that was killed left
}

func (s *Store) view(ctx context.Context, dir string) (*view, error) {
	root, dir, err := openTop(dir)
	if err != nil {
		return nil, err
	}
	v, err := s.look(ctx, root, dir)
	if err != nil {
		root.Close()
	}
	return v, err
}

// look scans a directory and keeps what it finds.
func (s *Store) look(ctx context.Context, root *os.Root, dir string) (*view, error) {
	name := s.cachePath(dir)
	old, at := loadCache(name), time.Now()
	sc, err := s.newScan(ctx, root, dir, old)
	if err != nil {
		return nil, err
	}
	id, err := s.keep(ctx, sc, root)
	if err != nil {
		return nil, err
	}
	if sc.changed || sc.fresh > 0 {
		err = s.saveCache(name, &cache{at, id, sc.found})
	} else {
		err = os.Chtimes(name, at, at) // what it names is kept as long as it is in use
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	snap := Snapshot{id, len(sc.found), sc.fresh, sc.skipped, sc.unstable}
	return &view{snap, root, dir, at, sc.found, sc.temps}, nil
}

// manyFiles is from how many files on a snapshot makes a pack of them.
const manyFiles = 64

// keep reads what must be read, and writes the snapshot.
func (s *Store) keep(ctx context.Context, sc *scan, root *os.Root) (ID, error) {
	if len(sc.stale) < manyFiles {
		return sc.keep(ctx, root, s.objects)
	}
	pack, err := s.objects.newPack()
	if err != nil {
		return "", err
	}
	id, err := sc.keep(ctx, root, pack)
	if err != nil {
		pack.discard()
		return "", err
	}
	return id, pack.finish()
}

func (s *scan) keep(ctx context.Context, root *os.Root, to sink) (ID, error) {
	if err := s.contents(root, to); err != nil {
		return "", err
	}
	if !s.changed && s.old.id != "" {
		return s.old.id, nil
	}
	return write(ctx, to, s.tree())
}
