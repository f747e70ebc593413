package openviking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openrath-go/rath/memory/driver"
)

// statFolder returns the remote name of a folder that is there.
func (s *store) statFolder(ctx context.Context, uri driver.URI) (string, error) {
	remote, err := s.names.folder(uri)
	if err != nil {
		return "", err
	}
	f, err := s.client.Stat(ctx, remote)
	if err == nil && !f.IsDir {
		err = fmt.Errorf("%w: %s is no folder", driver.ErrNotFound, remote)
	}
	return remote, err
}

// Remove asks first what is there, since the server removes what is not.
func (s *store) Remove(ctx context.Context, uri driver.URI, recursive bool) (int, error) {
	defer s.leave()
	if err := s.enter(); err != nil {
		return 0, err
	}
	n := 0
	file, err := s.stat(ctx, uri)
	if err == nil {
		if err := s.client.Remove(ctx, file.URI, false); err != nil {
			return 0, err
		}
		if n = 1; !recursive {
			return n, nil
		}
	} else if !errors.Is(err, driver.ErrNotFound) {
		return 0, err
	}
	more, err := s.removeFolder(ctx, uri, recursive)
	if n > 0 && errors.Is(err, driver.ErrNotFound) {
		err = nil
	}
	return n + more, err
}

func (s *store) removeFolder(ctx context.Context, uri driver.URI, recursive bool) (int, error) {
	folder, notes, err := s.full(ctx, uri)
	switch {
	case err != nil:
		return 0, err
	case !recursive:
		return 0, fmt.Errorf("%w: %s is a folder", driver.ErrInvalid, uri)
	case uri.Parent() == driver.Root: // only root keys may remove the folder of a scope
		return s.removeIn(ctx, uri)
	}
	return notes, s.client.Remove(ctx, folder, true)
}

// removeIn takes away what is in a scope.
func (s *store) removeIn(ctx context.Context, scope driver.URI) (n int, err error) {
	entries, err := s.list(ctx, scope)
	for _, e := range entries {
		if e.IsNote && err == nil {
			var f File
			if f, err = s.stat(ctx, e.URI); err == nil {
				err = s.client.Remove(ctx, f.URI, false)
			}
			if err == nil {
				n++
			}
		}
		if e.Notes != 0 && err == nil {
			var more int
			if more, err = s.removeFolder(ctx, e.URI, true); errors.Is(err, driver.ErrNotFound) {
				err = nil
			}
			n += more
		}
	}
	return n, err
}

// full returns a folder that has notes, and how many: to drivers an empty one is none.
func (s *store) full(ctx context.Context, uri driver.URI) (remote string, notes int, err error) {
	if remote, err = s.statFolder(ctx, uri); err != nil {
		return "", 0, err
	}
	files, err := s.client.Tree(ctx, remote)
	for _, f := range files {
		if _, ok := s.names.note(f.URI); ok && !f.IsDir {
			notes++
		}
	}
	if err == nil && notes == 0 {
		err = fmt.Errorf("%w: %s is empty", driver.ErrNotFound, uri)
	}
	return remote, notes, err
}

// List asks the server, which has folders without notes too, for all that is in a folder.
func (s *store) List(ctx context.Context, folder driver.URI) ([]driver.Entry, error) {
	defer s.leave()
	if err := s.enter(); err != nil {
		return nil, err
	}
	if folder == driver.Root {
		var scopes []driver.Entry
		for _, name := range driver.Scopes {
			scopes = append(scopes, driver.Entry{URI: driver.Root.Join(name), Notes: -1})
		}
		return scopes, nil
	}
	return s.list(ctx, folder)
}

func (s *store) list(ctx context.Context, folder driver.URI) ([]driver.Entry, error) {
	remote, err := s.names.folder(folder)
	if err != nil {
		return nil, err
	}
	files, err := s.client.List(ctx, remote)
	if hasCode(err, "FAILED_PRECONDITION") {
		err = fmt.Errorf("%w: %s is no folder", driver.ErrNotFound, folder)
	}
	isScope := folder.Parent() == driver.Root
	if isScope && errors.Is(err, driver.ErrNotFound) {
		return nil, nil
	}
	entries := s.entries(folder, files)
	if err == nil && len(entries) == 0 && !isScope {
		err = fmt.Errorf("%w: %s is empty", driver.ErrNotFound, folder)
	}
	return entries, err
}

// entries joins the files and folders of one name, in order.
func (s *store) entries(folder driver.URI, files []File) []driver.Entry {
	byURI := make(map[driver.URI]driver.Entry)
	for _, f := range files {
		u, ok := s.names.note(f.URI)
		if f.IsDir {
			u, ok = s.names.local(f.URI)
		}
		if !ok || u.Parent() != folder { // a session's folder in the user's, another user
			continue
		}
		e := byURI[u]
		e.URI = u
		if f.IsDir {
			e.Notes = -1
		} else {
			e.IsNote, e.Size, e.Time, e.Abstract = true, f.Size, f.Time(), f.Abstract
		}
		byURI[u] = e
	}
	var list []driver.Entry
	for _, e := range byURI {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b driver.Entry) int { return cmp.Compare(a.URI, b.URI) })
	return list
}

// Move looks at what is there first, since the server writes over it.
func (s *store) Move(ctx context.Context, from, to driver.URI) error {
	defer s.leave()
	if err := s.enter(); err != nil {
		return err
	}
	if to.In(from) {
		return fmt.Errorf("%w: %s is in %s", driver.ErrInvalid, to, from)
	}
	if err := cmp.Or(s.writable(from), s.writable(to)); err != nil {
		return err
	}
	steps, err := s.moves(ctx, from, to)
	if err != nil {
		return err
	}
	if err := s.ensure(ctx, to.Parent()); err != nil {
		return err
	}
	for _, m := range steps {
		if err := s.client.Move(ctx, m[0], m[1]); err != nil {
			return err
		}
	}
	return nil
}

// moves are what to move where: a file, a folder, or both by one name.
func (s *store) moves(ctx context.Context, from, to driver.URI) (steps [][2]string, err error) {
	for _, look := range []func(context.Context, driver.URI) error{s.isNote, s.isFolder} {
		if err := look(ctx, to); err == nil {
			return nil, fmt.Errorf("%w: %s", driver.ErrExists, to)
		} else if !errors.Is(err, driver.ErrNotFound) {
			return nil, err
		}
	}
	if f, err := s.stat(ctx, from); err == nil {
		remote, err := s.names.file(to)
		if err != nil {
			return nil, err
		}
		steps = append(steps, [2]string{f.URI, remote})
	} else if !errors.Is(err, driver.ErrNotFound) {
		return nil, err
	}
	folder, _, err := s.full(ctx, from)
	if err == nil {
		remote, err := s.names.folder(to)
		if err != nil {
			return nil, err
		}
		steps = append(steps, [2]string{folder, remote})
	}
	if len(steps) > 0 && errors.Is(err, driver.ErrNotFound) {
		err = nil
	}
	return steps, err
}

func (s *store) isNote(ctx context.Context, u driver.URI) error {
	_, err := s.stat(ctx, u)
	return err
}

// isFolder finds a folder with notes.
func (s *store) isFolder(ctx context.Context, u driver.URI) error {
	_, _, err := s.full(ctx, u)
	return err
}

// ensure makes a folder if it is not there.
func (s *store) ensure(ctx context.Context, folder driver.URI) error {
	_, err := s.statFolder(ctx, folder)
	if !errors.Is(err, driver.ErrNotFound) {
		return err
	}
	remote, err := s.names.folder(folder)
	if err == nil {
		err = s.client.Mkdir(ctx, remote)
	}
	if errors.Is(err, driver.ErrExists) || errors.Is(err, driver.ErrConflict) {
		return nil // by somebody else meanwhile
	}
	return err
}
