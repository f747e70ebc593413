package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Restore makes a directory what a snapshot is: it writes what differs, each file as a
// whole or not at all, and removes what is not in the snapshot, except what the store's
// options exclude or that directory's or the snapshot's .gitignore files leave out, and
// repositories of the user's. A file that somebody makes meanwhile stays, and is
// [ErrChanging] where it is in the way. It returns the snapshot of what was there before.
func (s *Store) Restore(ctx context.Context, dir string, id ID) (before ID, err error) {
	before, err = s.turn(ctx, dir, false, func(ID) (ID, error) { return id, nil })
	return before, wrap("restore", dir, err)
}

// within reports whether a path or a directory above it is in a set.
func within(set map[string]bool, p string) bool {
	for ; p != ""; p = parent(p) {
		if set[p] {
			return true
		}
	}
	return false
}

// sweep removes what a restore that was killed left half written.
func sweep(root *os.Root, temps []string) error {
	at := descent{root: root}
	defer at.close()
	for _, p := range temps {
		dir, name, err := at.parent(p)
		if err == nil {
			err = dir.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &entryError{p, bare(err)}
		}
	}
	return nil
}

// spare takes out of have what the snapshot's own .gitignore files leave out, so that it
// is not removed.
func (s *Store) spare(r *reader, have, want tree) error {
	if s.options.Ignored {
		return nil
	}
	var ig ignores
	for _, p := range want.sorted() { // a directory sorts before what is in it
		if e := want[p]; e.isFile() && strings.HasSuffix("/"+p, "/.gitignore") {
			text, err := r.bytes("blob", e.id)
			if err != nil {
				return err
			}
			ig = ig.with(parent(p), text)
		}
	}
	slices.SortStableFunc(ig, func(a, b ruleSet) int { return len(a.dir) - len(b.dir) })
	for p, e := range have {
		if _, stays := want[p]; !stays && ig.matchBelow(p, e.isDir()) {
			delete(have, p)
		}
	}
	return nil
}
