package mirror

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/workspace"
)

// archive makes one of headers; files hold their own names.
func archive(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		content := ""
		if h.Typeflag == tar.TypeReg {
			content = h.Name
		}
		h.Size = int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// tree is what is in a directory: contents, targets, or "dir".
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		switch d.Type() {
		case fs.ModeDir:
			all[rel] = "dir"
		case fs.ModeSymlink:
			target, err := os.Readlink(name)
			all[rel] = "-> " + target
			return err
		default:
			data, err := os.ReadFile(name)
			all[rel] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestUnpack(t *testing.T) {
	dir, link := byte(tar.TypeDir), byte(tar.TypeSymlink)
	for name, test := range map[string]struct {
		headers []tar.Header
		want    map[string]string // nil: it is refused
	}{
		"all kinds": {
			[]tar.Header{{Name: "./", Typeflag: dir}, {Name: "./d/", Typeflag: dir}, {Name: "./d/f"}, {Name: "l", Typeflag: link, Linkname: "d/f"}, {Name: "h", Typeflag: tar.TypeLink, Linkname: "./d/f"}, {Name: "p", Typeflag: tar.TypeFifo}, {Name: "c", Typeflag: tar.TypeChar}},
			map[string]string{"d": "dir", "d/f": "./d/f", "l": "-> d/f", "h": "./d/f"},
		},
		"a link, and a file behind it": {
			[]tar.Header{{Name: "out", Typeflag: link, Linkname: "../outside"}, {Name: "out/f"}},
			nil,
		},
		"a folder that becomes a link": {
			[]tar.Header{{Name: "out/", Typeflag: dir}, {Name: "out", Typeflag: link, Linkname: "../outside"}, {Name: "out2", Typeflag: link, Linkname: "out"}},
			nil,
		},
		"a file through a link of the archive": {
			[]tar.Header{{Name: "f", Typeflag: link, Linkname: "../outside/victim"}, {Name: "f"}},
			map[string]string{"f": "f"},
		},
		"a hard link to a link":                     {[]tar.Header{{Name: "l", Typeflag: link, Linkname: "../outside/victim"}, {Name: "h", Typeflag: tar.TypeLink, Linkname: "l"}}, map[string]string{"l": "-> ../outside/victim", "h": "-> ../outside/victim"}},
		"a parent":                                  {[]tar.Header{{Name: "../outside/f"}}, nil},
		"a parent further on":                       {[]tar.Header{{Name: "a/../../outside/f"}}, nil},
		"an absolute name":                          {[]tar.Header{{Name: "/etc/f"}}, nil},
		"a hard link to outside":                    {[]tar.Header{{Name: "h", Typeflag: tar.TypeLink, Linkname: "../outside/victim"}}, nil},
		"a hard link to what is not in the archive": {[]tar.Header{{Name: "h", Typeflag: tar.TypeLink, Linkname: "was"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			here, outside := filepath.Join(top, "here"), filepath.Join(top, "outside")
			for _, d := range []string{here, outside} {
				if err := os.Mkdir(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range []string{filepath.Join(here, "was"), filepath.Join(outside, "victim")} {
				if err := os.WriteFile(f, []byte("safe"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			root, err := os.OpenRoot(here)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			data := archive(t, test.headers...)
			for range 2 { // the second time over what the first has left
				err := unpack(root, bytes.NewReader(data))
				if (err == nil) != (test.want != nil) {
					t.Fatalf("the error is %v", err)
				}
			}
			if test.want != nil {
				if diff := cmp.Diff(test.want, tree(t, here)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
			if diff := cmp.Diff(map[string]string{"victim": "safe"}, tree(t, outside)); diff != "" {
				t.Errorf("outside: (-want +got)\n%s", diff)
			}
		})
	}
}

// A cut archive is an error, not a workspace with fewer files.
func TestUnpackCutOff(t *testing.T) {
	data := archive(t, tar.Header{Name: "a"}, tar.Header{Name: "b"})
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, n := range []int{0, 1, 512 + 1, 1024, 1024 + 100, 2048, 2048 + 512} {
		if err := unpack(root, bytes.NewReader(data[:n])); err == nil {
			t.Errorf("%d bytes of %d are an archive", n, len(data))
		}
	}
}

// far is a workspace elsewhere: a directory.
type far struct {
	t   *testing.T
	dir string
	put []string
}

func (f *far) Fetch(context.Context) (io.ReadCloser, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var names []string
	for name := range tree(f.t, f.dir) {
		names = append(names, name)
	}
	var out bytes.Buffer
	return io.NopCloser(&out), Pack(&out, root, names)
}

func (f *far) Deliver(_ context.Context, from *os.Root, remove, put []string) error {
	f.put = put
	for _, name := range remove {
		if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
			return err
		}
	}
	for _, name := range put {
		data, err := from.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(f.dir, name), data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestMirror(t *testing.T) {
	ctx := t.Context()
	store, err := workspace.Open(ctx, filepath.Join(t.TempDir(), "shadow"), nil)
	if err != nil {
		t.Skip(err)
	}
	f := &far{t: t, dir: t.TempDir()}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := New(ctx, store, f)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(m.Close()); err != nil {
			t.Error(err)
		}
	}()
	write("a", "1")
	write("b", "1")
	first, err := m.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	write("a", "2")
	write("c", "2")
	if before, err := m.Restore(ctx, first.ID); err != nil || before == first.ID {
		t.Fatal(before, err)
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "1"}, tree(t, f.dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a"}, f.put); diff != "" {
		t.Errorf("more was sent than has changed: (-want +got)\n%s", diff)
	}
}
