//go:build unix

package opensandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox/contract"
)

func shell(t *testing.T, s *sandbox.Sandbox, line string) string {
	t.Helper()
	r, err := s.Exec(t.Context(), sandbox.Command{Shell: line})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%s: %+v, %v", line, r, err)
	}
	return r.Stdout
}

func snapshot(t *testing.T, s *sandbox.Sandbox) sandbox.SnapshotID {
	t.Helper()
	taken, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return taken.ID
}

// tree describes all that is in a workspace.
const tree = `find . -mindepth 1 -printf '%P %y %m %l\n' | sort; find . -type f | sort | xargs cat | cksum`

func TestFork(t *testing.T) {
	for _, test := range []struct {
		name   string
		server contract.Options
		bound  bool
	}{
		{"by the server's snapshot", contract.Options{}, false},
		{"without snapshots", contract.Options{NoSnapshots: true}, false},
		{"without tar", contract.Options{NoSnapshots: true, Without: []string{"tar"}}, false},
		{"of a bound directory", contract.Options{}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := opensandbox.Options{Workspace: store(t)}
			if test.bound {
				o.Dir, o.StrictBind = t.TempDir(), true
				test.server.AllowedHostPaths = []string{os.TempDir()}
			}
			server := serve(t, &test.server)
			s := open(t, server, o)
			ctx := t.Context()
			shell(t, s, `mkdir -p a/b empty; printf 1 >a/b/f; printf '\377\000\r\n' >bin; ln -s a/b/f link; ln -s /etc/passwd out
				printf x >run; chmod 755 run; printf old >gone; mkdir -p was/dir; printf y >was/dir/f; printf z >kind; touch 'a b'"'"'c'`)
			base := snapshot(t, s)
			before := shell(t, s, tree)
			if again := snapshot(t, s); again != base {
				t.Errorf("a second snapshot of the same is %s, not %s", again, base)
			}
			shell(t, s, `printf 2 >a/b/f; rm -r gone was; printf n >new; rm kind; mkdir kind; touch kind/in; rm link; ln -s new link; chmod 600 run`)
			end, after := snapshot(t, s), shell(t, s, tree)

			f, err := s.Fork(base)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if diff := cmp.Diff(before, shell(t, f, tree)); diff != "" {
				t.Errorf("the fork (-want +got)\n%s", diff)
			}
			shell(t, f, "printf fork >a/b/f; printf only >fork")
			if diff := cmp.Diff(after, shell(t, s, tree)); diff != "" {
				t.Errorf("what a fork does shows (-want +got)\n%s", diff)
			}
			forked := snapshot(t, f)
			if _, err := s.Restore(ctx, base); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, shell(t, s, tree)); diff != "" {
				t.Errorf("restored (-want +got)\n%s", diff)
			}
			if _, err := s.Apply(ctx, base, forked); err != nil {
				t.Fatal(err)
			}
			if got := shell(t, s, "cat a/b/f fork gone"); got != "forkonlyold" {
				t.Errorf("applied: %q", got)
			}
			if _, err := s.Restore(ctx, end); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(after, shell(t, s, tree)); diff != "" {
				t.Errorf("restored again (-want +got)\n%s", diff)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if ids := server.SnapshotIDs(); len(ids) > 0 || len(server.IDs()) != 1 {
				t.Errorf("a closed fork leaves snapshots %v, sandboxes %v", ids, server.IDs())
			}
		})
	}
}

// A file that is ignored is no part of a snapshot, and stays.
func TestRestoreKeepsIgnored(t *testing.T) {
	s := open(t, serve(t, nil), opensandbox.Options{Workspace: store(t)})
	shell(t, s, "echo '*.log' >.gitignore; mkdir d; echo 1 >d/f")
	base := snapshot(t, s)
	shell(t, s, "mkdir new; echo 2 >new/f; echo 3 >new/x.log; echo 4 >d/y.log")
	if _, err := s.Restore(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	if got := shell(t, s, "find . -type f | sort"); got != "./.gitignore\n./d/f\n./d/y.log\n./new/x.log\n" {
		t.Errorf("there is %q", got)
	}
}

func TestDirIsUploaded(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a/f": "1", ".env": "KEY", "secrets/k": "2", "run": "3"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	refuses, allows := serve(t, nil), serve(t, &contract.Options{AllowedHostPaths: []string{dir}})
	exclude := []string{".env", "secrets"}
	for _, test := range []struct {
		name    string
		server  *contract.Server
		exclude []string
		want    string
		bound   bool
	}{
		{"bound", allows, nil, "./.env ./a/f ./run ./secrets/k ", true},
		{"refused", refuses, nil, "./.env ./a/f ./run ./secrets/k ", false},
		{"has what is excluded", allows, exclude, "./a/f ./run ", false},
		{"has nothing of it", allows, []string{"other"}, "./.env ./a/f ./run ./secrets/k ", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, test.server, opensandbox.Options{Dir: dir, Exclude: test.exclude})
			if got := shell(t, s, "find . -type f | sort | tr '\\n' ' '"); got != test.want {
				t.Errorf("the sandbox has %q, want %q", got, test.want)
			}
			if got := s.Placement().Spec.WorkingDir == dir; got != test.bound {
				t.Errorf("the placement is %+v", s.Placement())
			}
			shell(t, s, "[ -x run ] && printf 4 >there")
			if _, err := os.Stat(filepath.Join(dir, "there")); (err == nil) != test.bound {
				t.Errorf("bound is %v, but the file: %v", test.bound, err)
			}
			os.Remove(filepath.Join(dir, "there"))
		})
	}
	for _, server := range []*contract.Server{refuses, allows} {
		_, err := opensandbox.Open(t.Context(), &opensandbox.Options{URL: server.URL(), Image: "test", Dir: dir, StrictBind: true, Exclude: exclude})
		if err == nil || !strings.Contains(err.Error(), "bind "+dir) || len(server.IDs()) > 0 {
			t.Errorf("strict: %v, left %v", err, server.IDs())
		}
	}
}
