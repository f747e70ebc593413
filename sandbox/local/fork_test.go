//go:build unix

package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/workspace"
)

// forkable opens a sandbox that keeps snapshots.
func forkable(t *testing.T, level string) *sandbox.Sandbox {
	t.Helper()
	store, err := workspace.Open(t.Context(), filepath.Join(t.TempDir(), "shadow"), nil)
	if err != nil {
		t.Skip(err)
	}
	opts := &local.Options{Workspace: store, Hidden: []string{filepath.Join(t.TempDir(), "keys")}}
	if level != sandbox.LevelLandlock { // which cannot hide what is inside
		opts.Hidden = append(opts.Hidden, ".env")
	}
	return openAt(t, level, opts)
}

func TestFork(t *testing.T) {
	for _, level := range []string{sandbox.LevelHost, sandbox.LevelBubblewrap} {
		t.Run(level, func(t *testing.T) {
			s := forkable(t, level)
			ctx := t.Context()
			write := func(s *sandbox.Sandbox, name, text string) {
				t.Helper()
				if err := s.WriteFile(ctx, name, []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			read := func(s *sandbox.Sandbox, name, want string) {
				t.Helper()
				got, err := s.ReadFile(ctx, name)
				if err != nil || string(got) != want {
					t.Errorf("%s: %q, %v, want %q", name, got, err, want)
				}
			}
			write(s, "a", "1")
			if err := os.WriteFile(filepath.Join(s.Placement().Spec.WorkingDir, ".env"), []byte("KEY"), 0o600); err != nil {
				t.Fatal(err)
			}
			base, err := s.Snapshot(ctx)
			if err != nil {
				t.Fatal(err)
			}
			f, err := s.Fork(base.ID)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if p := f.Placement(); p.Fork != base.ID || !p.Forkable || p.Level != level || p.ID == s.ID() {
				t.Errorf("the placement is %+v", p)
			}
			if same, err := f.Snapshot(ctx); err != nil || same.ID != base.ID {
				t.Errorf("a fork that nothing has used is %v, %v", same, err)
			}
			if r, err := f.Exec(ctx, sandbox.Command{Shell: "printf 2 >b; printf 3 >a; cat .env"}); err != nil || level != sandbox.LevelHost && r.Stdout != "" {
				t.Errorf("%+v, %v", r, err)
			}
			if _, err := f.ReadFile(ctx, ".env"); !errors.Is(err, sandbox.ErrHidden) {
				t.Errorf("what is hidden in the workspace: %v", err)
			}
			read(f, filepath.Join(s.Placement().Spec.WorkingDir, "a"), "3") // by its name in the workspace
			read(s, "a", "1")
			write(s, "c", "4")
			end, err := f.Snapshot(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Apply(ctx, base.ID, end.ID); err != nil {
				t.Fatal(err)
			}
			read(s, "a", "3")
			read(s, "b", "2")
			read(s, "c", "4")
			if _, err := s.Restore(ctx, base.ID); err != nil {
				t.Fatal(err)
			}
			read(s, "a", "1")

			later, err := s.Fork(base.ID)
			if err != nil {
				t.Fatal(err)
			}
			defer later.Close()
			later.Advance(sandbox.Version{Snapshot: end.ID, Number: 2})
			later.Advance(sandbox.Version{Snapshot: base.ID, Number: 1}) // not later
			read(later, "b", "2")
			later.Advance(sandbox.Version{Snapshot: base.ID, Number: 3}) // too late
			read(later, "b", "2")
		})
	}
}

// In every branch of a conversation a path means the same, where the level can have it so.
func TestForkPaths(t *testing.T) {
	for _, level := range []string{sandbox.LevelHost, sandbox.LevelLandlock, sandbox.LevelBubblewrap} {
		t.Run(level, func(t *testing.T) {
			s := forkable(t, level)
			ctx, dir := t.Context(), s.Placement().Spec.WorkingDir
			fork := func(s *sandbox.Sandbox, text string) *sandbox.Sandbox {
				t.Helper()
				if err := s.WriteFile(ctx, "sub/a", []byte(text)); err != nil {
					t.Fatal(err)
				}
				base, err := s.Snapshot(ctx)
				if err != nil {
					t.Fatal(err)
				}
				f, err := s.Fork(base.ID)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { f.Close() })
				return f
			}
			first := fork(s, "0")
			second := fork(first, "1")
			for _, f := range []*sandbox.Sandbox{second, first} {
				r, err := f.Exec(ctx, sandbox.Command{Shell: `pwd -P; echo "$PWD"; printf x >>a; cat "$PWD/a"; ln -s "$PWD/a" ../link`, Dir: "sub"})
				lines := strings.Split(r.Stdout, "\n")
				if err != nil || len(lines) != 3 || lines[0] != lines[1] || lines[2] != "1x" {
					t.Fatalf("%+v, %v", r, err)
				}
				if same := lines[0] == filepath.Join(dir, "sub"); same != (level == sandbox.LevelBubblewrap) {
					t.Errorf("the fork of %s is at %s", dir, lines[0])
				}
				for _, name := range []string{"link", filepath.Join(dir, "sub", "a"), filepath.Join(lines[0], "a")} {
					if got, err := f.ReadFile(ctx, name); err != nil || string(got) != "1x" {
						t.Errorf("%s: %q, %v", name, got, err)
					}
				}
			}
			if got, err := s.ReadFile(ctx, "sub/a"); err != nil || string(got) != "0" {
				t.Errorf("the workspace has %q, %v", got, err)
			}
		})
	}
}

func TestForkWithoutStore(t *testing.T) {
	s := open(t, nil)
	if _, err := s.Fork("x"); !errors.Is(err, sandbox.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := s.Snapshot(t.Context()); !errors.Is(err, sandbox.ErrUnsupported) {
		t.Error(err)
	}
}

// A fork has no repository, and lies below folders that are not its own: git must not find
// one there.
func TestForkIsNoRepository(t *testing.T) {
	s := forkable(t, sandbox.LevelHost)
	ctx := t.Context()
	if r, err := s.Exec(ctx, sandbox.Command{Shell: "git init -q . && git rev-parse --is-inside-work-tree"}); err != nil || r.Stdout != "true\n" {
		t.Skip(r, err)
	}
	base, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Fork(base.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if r, err := f.Exec(ctx, sandbox.Command{Shell: "mkdir d; cd d; git rev-parse --git-dir"}); err != nil || r.ExitCode == 0 {
		t.Errorf("git finds %q, %v", r.Stdout, err)
	}
}
