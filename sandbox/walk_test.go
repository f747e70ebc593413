package sandbox_test

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/driver"
)

// folders is a driver that can only list: each folder's names, those of folders with a
// slash at their end.
type folders struct {
	driver.Sandbox
	names map[string][]string
}

func (f folders) Placement() driver.Placement { return driver.Placement{} }

func (f folders) List(_ context.Context, dir string) (list []driver.Entry, err error) {
	names, ok := f.names[dir]
	if !ok {
		return nil, fs.ErrPermission
	}
	for _, name := range names {
		list = append(list, driver.Entry{Name: path.Base(name), Path: path.Join(dir, name), IsDir: path.Base(name) != name})
	}
	return list, nil
}

func TestWalkPastAFolderThatCannotBeListed(t *testing.T) {
	s := sandbox.New(folders{names: map[string][]string{".": {"a", "closed/", "d/"}, "d": {"e"}}})
	own := errors.New("enough")
	for _, test := range []struct {
		name      string
		give, err error
		seen      []string
	}{
		{"goes on", nil, nil, []string{"a", "closed", "closed!", "d", "d/e"}},
		{"skips the folder", fs.SkipDir, nil, []string{"a", "closed", "closed!", "d", "d/e"}},
		{"skips all", fs.SkipAll, nil, []string{"a", "closed", "closed!"}},
		{"fails", own, own, []string{"a", "closed", "closed!"}},
	} {
		var seen []string
		err := s.Walk(t.Context(), ".", func(e sandbox.Entry, err error) error {
			if err == nil {
				seen = append(seen, e.Path)
				return nil
			}
			var known *sandbox.Error
			if !errors.As(err, &known) || known.Name != e.Path || !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: the error of %s is %v", test.name, e.Path, err)
			}
			seen = append(seen, e.Path+"!")
			return test.give
		})
		if diff := cmp.Diff(test.seen, seen); diff != "" || !errors.Is(err, test.err) {
			t.Errorf("%s: %v\n%s", test.name, err, diff)
		}
	}
	if err := s.Walk(t.Context(), "closed", nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the root of the walk: %v", err)
	}
}

func TestWalkCanBeCancelled(t *testing.T) {
	s := sandbox.New(folders{names: map[string][]string{".": {"a", "b", "c"}}})
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err := s.Walk(ctx, ".", func(sandbox.Entry, error) error {
		seen++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("%v after %d files", err, seen)
	}
}
