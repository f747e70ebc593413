package docker_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/workspace"
)

// forkable opens a sandbox that keeps snapshots.
func forkable(t *testing.T, kind string) *sandbox.Sandbox {
	t.Helper()
	o := options(t, kind)
	o.Workspace = snapshots(t)
	return open(t, o)
}

func fork(t *testing.T, s *sandbox.Sandbox) *sandbox.Sandbox {
	t.Helper()
	id, err := s.Snapshot(t.Context())
	must(t, err)
	f, err := s.Fork(id.ID)
	must(t, err)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// What was installed in a container and what is in its workspace is in a fork too, and
// from then on each goes its own way.
func TestFork(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			s := forkable(t, kind)
			shell(t, s, `printf 1 >a; mkdir -p d/e empty; ln -s ../a d/link; printf '#!/bin/sh\necho tool' >~/tool; chmod 755 ~/tool; cp ~/tool d/x; chmod 640 a`)
			first := fork(t, s)
			const look = `cat a; ~/tool; ./d/x; readlink d/link; ls -d empty; stat -c %a a d/x; id -u`
			want := shell(t, s, look).Stdout
			if diff := cmp.Diff(want, shell(t, first, look).Stdout); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			shell(t, first, "printf 2 >a; echo echo other >~/tool; rm -r d empty; echo x >new")
			if diff := cmp.Diff(want, shell(t, s, look).Stdout); diff != "" {
				t.Errorf("a fork's changes show: (-want +got)\n%s", diff)
			}
			second := fork(t, first)
			if r := shell(t, second, "cat a; ~/tool; ls"); r.Stdout != "2other\na\nnew\n" {
				t.Errorf("a fork of a fork has %+v", r)
			}
			must(t, first.Close()) // the other's image is made from this one's
			if r := shell(t, second, "~/tool; cat /workspace/new"); r.Stdout != "other\nx\n" {
				t.Errorf("%+v", r)
			}
			must(t, second.Close())
			must(t, s.Close())
			nothingLeft(t)
		})
	}
}

func TestApplyAndRestore(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			s := forkable(t, kind)
			ctx := t.Context()
			shell(t, s, "echo 1 >a; echo same >b; mkdir was; echo x >was/file; mkdir -p shut/in; echo 1 >shut/f; echo 1 >shut/in/g; chmod 500 shut/in shut; echo y >'odd name'")
			base, err := s.Snapshot(ctx)
			must(t, err)
			f := fork(t, s)
			shell(t, f, "echo 2 >a; rm -r was; echo now a file >was; mkdir -p new/dir; echo z >new/dir/f; rm 'odd name'; ln -s a link; chmod 700 b; chmod 700 shut shut/in; echo 2 >shut/f; rm shut/in/g; echo 2 >shut/h; chmod 500 shut/in shut")
			end, err := f.Snapshot(ctx)
			must(t, err)
			shell(t, s, "echo mine >c")
			if _, err := s.Apply(ctx, base.ID, end.ID); err != nil {
				t.Fatal(err)
			}
			const look = "for f in $(find . -type f | sort); do echo $f; cat $f; done; readlink link; stat -c %a b shut shut/in"
			if r := shell(t, s, look); r.Stdout != "./a\n2\n./b\nsame\n./c\nmine\n./new/dir/f\nz\n./shut/f\n2\n./shut/h\n2\n./was\nnow a file\na\n700\n500\n500\n" {
				t.Errorf("applied: %+v", r)
			}
			if _, err := s.Restore(ctx, base.ID); err != nil {
				t.Fatal(err)
			}
			if r := shell(t, s, "find . | sort; cat a was/file shut/f shut/in/g; stat -c %a b shut shut/in"); r.Stdout != ".\n./a\n./b\n./odd name\n./shut\n./shut/f\n./shut/in\n./shut/in/g\n./was\n./was/file\n1\nx\n1\n1\n644\n500\n500\n" {
				t.Errorf("restored: %+v", r)
			}
			shell(t, s, "echo conflict >a")
			if _, err := s.Apply(ctx, base.ID, end.ID); !errors.As(err, new(*workspace.ConflictError)) {
				t.Errorf("a conflict: %v", err)
			}
			if r := shell(t, s, "cat a; ls"); r.Stdout != "conflict\na\nb\nodd name\nshut\nwas\n" {
				t.Errorf("after a conflict: %+v", r)
			}
			shell(t, s, "chmod 700 shut shut/in") // for whoever cleans up
		})
	}
}

// The archive of a volume is what commands have made it.
func TestHostileVolume(t *testing.T) {
	s := forkable(t, "volume")
	outside := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(outside, []byte("safe"), 0o600))
	shell(t, s, `ln -s `+outside+` out; ln out hard; ln -s / dir; mkfifo pipe; mkdir -p deep/er; echo x >deep/er/f; ln deep/er/f twin; chmod 0 deep; echo '#' >'-rf'; echo '#' >'a
b'; chmod 7777 twin; ln -s ../../../../etc up; touch "$(printf '\377')"; head -c 100000000 /dev/zero >big`)
	f := fork(t, s)
	r := shell(t, f, `for l in out hard dir up; do readlink $l; done; chmod 755 deep; cat deep/er/f twin; ls | wc -l; cat -- -rf; wc -c <big`)
	if want := outside + "\n" + outside + "\n/\n../../../../etc\nx\nx\n10\n#\n100000000\n"; r.Stdout != want {
		t.Errorf("the fork has %+v", r)
	}
	if got, err := os.ReadFile(outside); string(got) != "safe" {
		t.Errorf("a file outside holds %q, %v", got, err)
	}
}

func TestForkWithoutStore(t *testing.T) {
	s := open(t, options(t, "volume"))
	if _, err := s.Fork("x"); !errors.Is(err, sandbox.ErrUnsupported) {
		t.Error(err)
	}
	if c := s.Capabilities(); c.Fork || c.Snapshot {
		t.Errorf("%+v", c)
	}
}

func TestForkPaths(t *testing.T) {
	o := options(t, "directory")
	o.Workspace = snapshots(t)
	must(t, os.Mkdir(filepath.Join(o.Dir, "keep"), 0o755))
	must(t, os.WriteFile(filepath.Join(o.Dir, "keep/f"), []byte("text"), 0o644))
	o.Policy.ReadOnly = []string{filepath.Join(o.Dir, "keep")}
	s := open(t, o)
	f := fork(t, fork(t, s))
	for _, name := range []string{"keep/f", filepath.Join(o.Dir, "keep/f"), "/workspace/keep/f"} {
		if got, err := f.ReadFile(t.Context(), name); err != nil || string(got) != "text" {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if r := shell(t, f, "echo x >keep/f || cat keep/f"); r.Stdout != "text" {
		t.Errorf("%+v", r)
	}
}
