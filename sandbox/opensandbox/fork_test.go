//go:build unix

package opensandbox_test

import (
	"archive/tar"
	"bytes"
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

// hostile makes an archive as no honest sandbox would.
func hostile(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range entries {
		h.Mode = 0o644
		if h.Typeflag == tar.TypeReg {
			h.Size = 4
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			w.Write([]byte("evil"))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestUnpackHostile(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	link := func(name, to string) tar.Header {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
	}
	hard := func(name, to string) tar.Header {
		return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to}
	}
	base := t.TempDir()
	for _, test := range []struct {
		name    string
		entries []tar.Header
		wantErr bool
	}{
		{"a path that leaves", []tar.Header{file("../evil")}, true},
		{"an absolute path", []tar.Header{file(base + "/evil")}, true},
		{"dots within", []tar.Header{file("a/../../evil")}, true},
		{"through a link", []tar.Header{link("d", base), file("d/evil")}, true},
		{"through a relative link", []tar.Header{link("d", ".."), file("d/evil")}, true},
		{"over a link", []tar.Header{link("f", base+"/evil"), file("f")}, false},
		{"a hard link to outside", []tar.Header{hard("h", "../secret")}, true},
		{"a hard link to an absolute path", []tar.Header{hard("h", base+"/secret")}, true},
		{"a hard link by a link", []tar.Header{link("s", base+"/secret"), hard("h", "s")}, false},
		{"a device", []tar.Header{{Typeflag: tar.TypeChar, Name: "null", Devmajor: 1, Devminor: 3}}, false},
		{"a pipe", []tar.Header{{Typeflag: tar.TypeFifo, Name: "pipe"}}, false},
		{"set-id", []tar.Header{{Typeflag: tar.TypeReg, Name: "suid", Mode: 0o6755}}, false},
		{"the folder itself", []tar.Header{{Typeflag: tar.TypeSymlink, Name: ".", Linkname: base}, file("./x")}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(base, "ws")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(base, "secret"), []byte("safe"), 0o600); err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			err = opensandbox.Unpack(root, bytes.NewReader(hostile(t, test.entries...)))
			if (err != nil) != test.wantErr {
				t.Errorf("the error is %v, want one: %v", err, test.wantErr)
			}
			if _, err := os.Lstat(filepath.Join(base, "evil")); err == nil {
				t.Error("a file was written outside")
			}
			if data, err := os.ReadFile(filepath.Join(base, "secret")); string(data) != "safe" || err != nil {
				t.Errorf("a file outside is %q, %v", data, err)
			}
			err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				if m := info.Mode(); err == nil && m.Type()&^os.ModeDir&^os.ModeSymlink != 0 || m&(os.ModeSetuid|os.ModeSetgid) != 0 {
					t.Errorf("%s is %v", name, m)
				}
				if data, e := os.ReadFile(name); d.Type() == 0 && strings.Contains(string(data), "safe") {
					t.Errorf("%s has what is outside (%v)", name, e)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("not an archive"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		_ = opensandbox.Unpack(root, bytes.NewReader(data))
		if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
			t.Errorf("there is more beside the directory: %v, %v", entries, err)
		}
	})
}
