package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory/driver"
)

// Get returns a note.
func (s *Store) Get(ctx context.Context, uri URI) (Note, error) {
	return at(ctx, s, operation{OpRead, string(uri), effect.ReadOnly}, uri, s.d.Get)
}

// at performs an operation on a URI, once that is checked.
func at[Out any](ctx context.Context, s *Store, op operation, uri URI, fn func(context.Context, URI) (Out, error)) (Out, error) {
	u, err := ParseURI(string(uri))
	if err != nil {
		var none Out
		return none, s.fail(op.name, quoted(string(uri)), err)
	}
	return do(ctx, s, op, u, func(ctx context.Context) (Out, error) { return fn(ctx, u) })
}

// leveled is the input of a reading.
type leveled struct {
	URI   URI   `json:"uri"`
	Level Level `json:"level"`
}

// Read returns the text of a note, or what is in a folder, at a level; an empty level is
// Detail.
func (s *Store) Read(ctx context.Context, uri URI, level Level) (string, error) {
	u, err := ParseURI(string(uri))
	if err == nil && level != Abstract && level != Overview && level != Detail && level != "" {
		err = invalid("the level %q: there are abstract, overview and detail", level)
	}
	if err != nil {
		return "", s.fail(OpRead, quoted(string(uri)), err)
	}
	op := operation{OpRead, string(u), effect.ReadOnly}
	return do(ctx, s, op, leveled{u, level}, func(ctx context.Context) (string, error) { return s.read(ctx, u, level) })
}

func (s *Store) read(ctx context.Context, u URI, level Level) (string, error) {
	if l, ok := s.d.(driver.Leveler); ok {
		return l.Level(ctx, u, level)
	}
	n, err := s.d.Get(ctx, u)
	if errors.Is(err, ErrNotFound) {
		return s.readFolder(ctx, u)
	}
	if err != nil {
		return "", err
	}
	switch level {
	case Abstract:
		return AbstractOf(n.Text), nil
	case Overview:
		return OverviewOf(n.Text), nil
	}
	return n.Text, nil
}

// readFolder tells what is in a folder, a line each.
func (s *Store) readFolder(ctx context.Context, u URI) (string, error) {
	entries, err := s.d.List(ctx, u)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		if e.IsNote {
			fmt.Fprintf(&b, "- %s: %s\n", e.URI, e.Abstract)
		}
		if e.Notes != 0 {
			fmt.Fprintf(&b, "- %s/\n", e.URI)
		}
	}
	return b.String(), nil
}

// List returns what is directly in a folder, in order of URIs.
func (s *Store) List(ctx context.Context, folder URI) ([]Entry, error) {
	return at(ctx, s, operation{OpList, string(folder), effect.ReadOnly}, folder, s.d.List)
}

// spread is the input of a tree.
type spread struct {
	URI   URI `json:"uri"`
	Depth int `json:"depth"`
}

// maxEntries ends a tree that nobody would read.
const maxEntries = 100_000

// Tree returns what is in a folder down to a depth, parents before children; 0 is all of
// it, 1 what List returns.
func (s *Store) Tree(ctx context.Context, folder URI, depth int) ([]Entry, error) {
	u, err := ParseURI(string(folder))
	if err == nil && depth < 0 {
		err = invalid("a depth of %d", depth)
	}
	if err != nil {
		return nil, s.fail(OpList, quoted(string(folder)), err)
	}
	op := operation{OpList, string(u), effect.ReadOnly}
	return do(ctx, s, op, spread{u, depth}, func(ctx context.Context) ([]Entry, error) { return s.tree(ctx, u, depth, nil) })
}

func (s *Store) tree(ctx context.Context, folder URI, depth int, list []Entry) ([]Entry, error) {
	entries, err := s.d.List(ctx, folder)
	for _, e := range entries {
		if len(list) == maxEntries {
			return list, invalid("there are more than %d entries: name a folder or a depth", maxEntries)
		}
		list = append(list, e)
		if e.Notes != 0 && depth != 1 && err == nil {
			list, err = s.tree(ctx, e.URI, depth-1, list)
		}
	}
	return list, err
}

// removed is the input of a removal.
type removed struct {
	URI       URI  `json:"uri"`
	Recursive bool `json:"recursive,omitempty"`
}

// Remove takes a note away, or a folder with all that is in it if recursive is set, and
// returns how many notes that were.
func (s *Store) Remove(ctx context.Context, uri URI, recursive bool) (int, error) {
	u, err := ParseURI(string(uri))
	if err == nil && u == Root {
		err = invalid("the root cannot be removed: remove its scopes")
	}
	if err != nil {
		return 0, s.fail(OpRemove, quoted(string(uri)), err)
	}
	op := operation{OpRemove, string(u), effect.Mutating}
	return do(ctx, s, op, removed{u, recursive}, func(ctx context.Context) (int, error) { return s.d.Remove(ctx, u, recursive) })
}

// moved is the input of a move.
type moved struct {
	From URI `json:"from"`
	To   URI `json:"to"`
}

// Move gives a note, or all that is in a folder, another URI, at once. Where something is
// already, nothing is moved and it fails with [ErrExists].
func (s *Store) Move(ctx context.Context, from, to URI) error {
	uris, err := canonical([]URI{from, to})
	switch {
	case err != nil:
	case uris[0].Parent() == Root || uris[1].Parent() == Root:
		err = invalid("a scope cannot be moved")
	case uris[1].In(uris[0]):
		err = invalid("%s is in %s", uris[1], uris[0])
	}
	on := fmt.Sprintf("%s to %s", from, to)
	if err != nil {
		return s.fail(OpMove, on, err)
	}
	_, err = do(ctx, s, operation{OpMove, on, effect.Mutating}, moved{uris[0], uris[1]}, func(ctx context.Context) (struct{}, error) {
		if !s.d.Capabilities().Move {
			return struct{}{}, unsupported("move notes")
		}
		return struct{}{}, s.d.Move(ctx, uris[0], uris[1])
	})
	return err
}
