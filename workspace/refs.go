package workspace

import (
	"context"
	"fmt"
	"strings"
)

// refs is where names that keep snapshots are.
const refs = "refs/rath/"

// Keep has a name stand for a snapshot, and whatever else it stood for be forgotten. A
// snapshot that a name stands for is never collected. Names are like "runs/7f/before":
// git's rules for references hold.
func (s *Store) Keep(ctx context.Context, name string, id ID) error {
	release, err := s.use(ctx)
	if err != nil {
		return wrap("keep", name, err)
	}
	defer release()
	if err = s.known(ctx, id); err == nil {
		_, err = s.git.output(ctx, "update-ref", refs+name, string(id))
	}
	return wrap("keep", name, err)
}

// Drop has a name stand for nothing. It is no error if it already does.
func (s *Store) Drop(ctx context.Context, name string) error {
	_, err := s.git.output(ctx, "update-ref", "-d", refs+name)
	return wrap("drop", name, err)
}

// Kept returns the names and what they stand for. Only those that begin with prefix are
// returned; it ends where a name or a part of it does.
func (s *Store) Kept(ctx context.Context, prefix string) (map[string]ID, error) {
	out, err := s.git.output(ctx, "for-each-ref", "--format=%(objectname) %(refname)", strings.TrimSuffix(refs+prefix, "/"))
	if err != nil {
		return nil, wrap("list kept snapshots", prefix, err)
	}
	kept := make(map[string]ID)
	for line := range strings.Lines(string(out)) {
		id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok {
			return nil, wrap("list kept snapshots", prefix, fmt.Errorf("%w: reference %q", ErrCorrupt, line))
		}
		kept[strings.TrimPrefix(name, refs)] = ID(id)
	}
	return kept, nil
}
