package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// refs is where names that keep snapshots are.
const refs = "refs/rath/"

// Keep has a name stand for a snapshot, and whatever else it stood for be forgotten. A
// snapshot that a name stands for is never collected. Names are like "runs/7f/before":
// git's rules for references hold, so that "runs/7f" cannot be one as long as that is.
func (s *Store) Keep(ctx context.Context, name string, id ID) error {
	return wrap("keep", name, s.changeRefs(ctx, func() error {
		if err := s.known(ctx, id); err != nil {
			return err
		}
		return s.references.set(refs+name, id)
	}))
}

// Drop has a name stand for nothing. It is no error if it already does.
func (s *Store) Drop(ctx context.Context, name string) error {
	return wrap("drop", name, s.changeRefs(ctx, func() error { return s.references.drop(refs + name) }))
}

// changeRefs does something that nobody else does at the same time.
func (s *Store) changeRefs(ctx context.Context, change func() error) error {
	release, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer release()
	unlock, err := lock(ctx, s.own("refs.lock"), true)
	if err != nil {
		return err
	}
	defer unlock()
	return change()
}

// Kept returns the names and what they stand for. Only those that begin with prefix are
// returned; it ends where a name or a part of it does.
func (s *Store) Kept(ctx context.Context, prefix string) (map[string]ID, error) {
	release, err := s.use(ctx)
	if err != nil {
		return nil, wrap("list kept snapshots", prefix, err)
	}
	defer release()
	all, err := s.references.list(strings.TrimSuffix(refs+prefix, "/"))
	if err != nil {
		return nil, wrap("list kept snapshots", prefix, err)
	}
	kept := make(map[string]ID, len(all))
	for name, id := range all {
		kept[strings.TrimPrefix(name, refs)] = id
	}
	return kept, nil
}

var errName = errors.New("no name that git would take")

// checkName keeps to git's rules for references.
func checkName(name string) error {
	if strings.HasSuffix(name, ".") {
		return fmt.Errorf("%q: %w", name, errName)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") ||
			strings.Contains(part, "..") || strings.Contains(part, "@{") || strings.ContainsFunc(part, forbidden) {
			return fmt.Errorf("%q: %w", name, errName)
		}
	}
	return nil
}

func forbidden(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(`~^:?*[\`, c) }
