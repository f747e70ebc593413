package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/client"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/docker"
	"github.com/openrath-go/rath/workspace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// image is what the tests' containers are made from: busybox, and bash where this machine
// has it. There is no registry to have one from.
const image = "rath-test:latest"

// engine returns a client of the engine, with the image in it, or skips the test.
func engine(t testing.TB) *client.Client {
	t.Helper()
	c, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Ping(t.Context(), client.PingOptions{}); err != nil {
		t.Skipf("no Docker engine answers, DOCKER_HOST names one: %v", err)
	}
	if err := imported(); err != nil {
		t.Skipf("no image can be made: %v", err)
	}
	return c
}

// imported makes the image, once.
var imported = sync.OnceValue(func() error {
	c, err := client.New(client.FromEnv)
	if err != nil {
		return err
	}
	defer c.Close()
	old, err := c.ImageInspect(context.Background(), image)
	if err == nil && os.Getenv(victimEnv) != "" {
		return nil // the test that starts the victim has made it
	}
	archive, err := rootfs()
	if err != nil {
		return err
	}
	answer, err := c.ImageImport(context.Background(), client.ImageImportSource{Source: archive, SourceName: "-"}, image, client.ImageImportOptions{})
	if err != nil {
		return err
	}
	defer answer.Close()
	said, err := io.ReadAll(answer)
	if err == nil && bytes.Contains(said, []byte(`"error"`)) {
		err = fmt.Errorf("import: %s", said)
	}
	if old.ID != "" {
		_, _ = c.ImageRemove(context.Background(), old.ID, client.ImageRemoveOptions{}) // unless something needs it
	}
	return err
})

// rootfs makes an archive of a system with busybox.
func rootfs() (io.Reader, error) {
	busybox, err := static("busybox")
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	t := tar.NewWriter(&archive)
	r := &rooter{Writer: t, has: map[string]bool{}}
	names, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, err
	}
	r.add("bin/busybox", busybox)
	for name := range strings.FieldsSeq(string(names)) {
		if name != "busybox" {
			r.put(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox"}, nil)
		}
	}
	r.put(&tar.Header{Name: "etc/passwd", Mode: 0o644}, []byte("root:x:0:0::/:/bin/sh\n"))
	r.put(&tar.Header{Name: "etc/shadow", Mode: 0o600}, []byte("root:*:::::::\n"))
	r.addProgram("bash")
	return &archive, errors.Join(r.err, t.Close())
}

// static finds a program that needs no libraries.
func static(name string) (string, error) {
	file, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: install busybox-static", err)
	}
	if out, _ := exec.Command("ldd", file).CombinedOutput(); !strings.Contains(string(out), "not a dynamic") {
		return "", fmt.Errorf("%s is not static: install busybox-static", file)
	}
	return file, nil
}

// rooter fills the archive, and keeps the first error.
type rooter struct {
	*tar.Writer
	has map[string]bool
	err error
}

func (r *rooter) put(h *tar.Header, data []byte) {
	if r.has[h.Name] || r.err != nil {
		return
	}
	r.has[h.Name] = true
	h.Size = int64(len(data))
	r.err = r.WriteHeader(h)
	if r.err == nil {
		_, r.err = r.Write(data)
	}
}

func (r *rooter) add(name, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		r.err = errors.Join(r.err, err)
		return
	}
	r.put(&tar.Header{Name: name, Mode: 0o755}, data)
}

// addProgram adds a program of this machine with its libraries, if there is one.
func (r *rooter) addProgram(name string) {
	file, err := exec.LookPath(name)
	if err != nil {
		return
	}
	out, err := exec.Command("ldd", file).Output()
	if err != nil {
		return
	}
	r.add(path.Join("bin", name), file)
	for word := range strings.FieldsSeq(string(out)) {
		if filepath.IsAbs(word) {
			r.add(strings.TrimPrefix(word, "/"), word)
		}
	}
}

// kinds are the two places that a workspace can be at.
var kinds = []string{"directory", "volume"}

// options are those of a kind of workspace.
func options(t testing.TB, kind string) *docker.Options {
	t.Helper()
	engine(t)
	o := &docker.Options{Image: image}
	if kind == "directory" {
		o.Dir = t.TempDir()
	}
	return o
}

func open(t testing.TB, o *docker.Options) *sandbox.Sandbox {
	t.Helper()
	s, err := docker.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// shell runs a line that must not fail to run.
func shell(t testing.TB, s *sandbox.Sandbox, line string) sandbox.Result {
	t.Helper()
	r, err := s.Exec(t.Context(), sandbox.Command{Shell: line})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sortedCopy(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// snapshots returns a store for snapshots, or skips the test.
func snapshots(t testing.TB) *workspace.Store {
	t.Helper()
	store, err := workspace.Open(t.Context(), filepath.Join(t.TempDir(), "shadow"), nil)
	if err != nil {
		t.Skip(err)
	}
	return store
}
