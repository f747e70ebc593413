package workspace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Apply makes in a directory the changes that lead from one snapshot to another. What the
// directory has changed itself is merged with them; if that does not go together, nothing is
// changed and the error is a [*ConflictError]. What changes in the directory meanwhile is
// merged, too, and never overwritten; if it does not stop changing where Apply has to write,
// some of the changes may have been made and the error is [ErrChanging]. It returns the
// snapshot that it merged with: what was there before.
func (s *Store) Apply(ctx context.Context, dir string, from, to ID) (before ID, err error) {
	before, err = s.turn(ctx, dir, true, func(now ID) (ID, error) {
		m, err := s.merge(ctx, from, now, to, &MergeOptions{})
		if err != nil {
			return "", err
		}
		if len(m.Conflicts) > 0 {
			return "", &ConflictError{m.Conflicts}
		}
		return m.ID, nil
	})
	return before, wrap("apply to", dir, err)
}

// ApplyPatch makes in a directory the changes of a patch as git writes it, all or, with an
// error, none. What changes there meanwhile is treated as Apply does. It returns the
// snapshot of what was there before.
func (s *Store) ApplyPatch(ctx context.Context, dir string, patch io.Reader) (before ID, err error) {
	text, err := io.ReadAll(patch)
	if err != nil {
		return "", wrap("apply a patch to", dir, err)
	}
	before, err = s.turn(ctx, dir, true, func(now ID) (ID, error) {
		return s.patched(ctx, now, bytes.NewReader(text))
	})
	return before, wrap("apply a patch to", dir, err)
}

// patched applies a patch to a snapshot, in an index of its own. No file of the directory
// is touched by git.
func (s *Store) patched(ctx context.Context, id ID, patch io.Reader) (ID, error) {
	tmp, err := os.MkdirTemp(s.own("tmp"), "index-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	var out strings.Builder
	for _, step := range []struct {
		in   io.Reader
		args []string
	}{
		{nil, []string{"read-tree", filesOf(id)}},
		{patch, []string{"apply", "--cached", "--whitespace=nowarn", "-"}},
		{nil, []string{"write-tree"}},
	} {
		cmd := s.git.command(ctx, step.args...)
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+filepath.Join(tmp, "index"))
		if err := s.git.run(ctx, cmd, step.in, &out); err != nil {
			return "", err
		}
	}
	files, err := parseOID(strings.TrimSpace(out.String()))
	if err != nil {
		return "", fmt.Errorf("git write-tree: %w", err)
	}
	return s.carry(ctx, id, files)
}

// carry makes a snapshot of a tree that was made from another one's: directories stay, and
// permissions that git does not know of.
func (s *Store) carry(ctx context.Context, id ID, files oid) (ID, error) {
	r := s.reader(ctx)
	defer r.close()
	was, err := r.tree(id)
	if err != nil {
		return "", err
	}
	now, err := r.files(files)
	if err != nil {
		return "", err
	}
	for p, old := range was {
		e, stays := now[p]
		switch {
		case !stays && old.isDir():
			now[p] = old
		case stays && e.gitMode() == old.gitMode():
			now[p] = entry{old.mode, e.id}
		}
	}
	for p := range was { // a directory below what has become a file
		for d := parent(p); d != ""; d = parent(d) {
			if e, ok := now[d]; ok && !e.isDir() {
				delete(now, p)
			}
		}
	}
	return write(ctx, s.objects, now)
}
