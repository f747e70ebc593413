package local_test

import (
	"errors"
	"os"
	"path/filepath"
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
	return openAt(t, level, &local.Options{Workspace: store, Hidden: []string{".env", filepath.Join(t.TempDir(), "keys")}})
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
			later.Advance(end.ID)
			read(later, "b", "2")
			later.Advance(base.ID) // too late
			read(later, "b", "2")
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
