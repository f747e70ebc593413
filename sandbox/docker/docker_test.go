package docker_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/docker"
	"github.com/openrath-go/rath/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			store := snapshots(t)
			sandboxtest.Run(t, func(t *testing.T) *sandbox.Sandbox {
				o := options(t, kind)
				o.Workspace = store
				return open(t, o)
			})
		})
	}
}

func TestRefusals(t *testing.T) {
	engine(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for name, test := range map[string]struct {
		opts   docker.Options
		policy bool // it is a *sandbox.PolicyError
		text   string
		hint   bool
	}{
		"no image":                {docker.Options{}, false, "no image is named", false},
		"an image not there":      {docker.Options{Image: "rath-test:none"}, false, "image rath-test:none: the engine has nothing of that name", true},
		"a missing directory":     {docker.Options{Image: image, Dir: filepath.Join(dir, "x")}, false, "no such file or directory", true},
		"a file":                  {docker.Options{Image: image, Dir: file}, false, "not a directory", false},
		"a user by name":          {docker.Options{Image: image, User: "root"}, false, `user "root": it must be numbers`, false},
		"another level":           {docker.Options{Image: image, Policy: sandbox.Policy{Level: "bubblewrap"}}, true, `level "bubblewrap" cannot be enforced`, true},
		"another network":         {docker.Options{Image: image, Policy: sandbox.Policy{Network: "lan"}}, true, `cannot enforce the network "lan"`, true},
		"too few processes":       {docker.Options{Image: image, Policy: sandbox.Policy{Limits: sandbox.Limits{Processes: 3}}}, true, "a limit of 3 processes", true},
		"a read-only space":       {docker.Options{Image: image, Dir: dir, Policy: sandbox.Policy{ReadOnly: []string{"."}}}, true, "a workspace that may only be read", true},
		"rules for a volume":      {docker.Options{Image: image, Policy: sandbox.Policy{ReadOnly: []string{"a"}}}, true, "rules for a", true},
		"a path not there":        {docker.Options{Image: image, Dir: dir, Policy: sandbox.Policy{Writable: []string{"/no/such"}}}, false, "path /no/such of the policy", true},
		"an engine not there":     {docker.Options{Image: image, Host: "unix:///no/such/socket"}, false, "/no/such/socket", true},
		"an address that is none": {docker.Options{Image: image, Host: "?"}, false, "the engine's address", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := docker.Open(t.Context(), &test.opts)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			var e *sandbox.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), test.text) {
				t.Fatalf("the error is %#v: %v", err, err)
			}
			if refused := errors.As(err, new(*sandbox.PolicyError)); refused != test.policy || (e.Hint() != "") != test.hint {
				t.Errorf("%v: refused by the policy %v, hint %q", err, refused, e.Hint())
			}
		})
	}
	nothingLeft(t)
}

func TestOrdinaryUser(t *testing.T) {
	o := options(t, "directory")
	must(t, os.Chmod(o.Dir, 0o777))
	o.User = "4321:4321"
	s := open(t, o)
	r := shell(t, s, `id -u; id -g; cat /etc/shadow; echo x >/bin/x; echo x >mine; grep -E '^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status`)
	want := "4321\n4321\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n"
	if diff := cmp.Diff(want, r.Stdout); diff != "" {
		t.Errorf("(-want +got)\n%s%s", diff, r.Stderr)
	}
	must(t, os.WriteFile(filepath.Join(o.Dir, "closed"), []byte("x"), 0o400))
	must(t, os.Chown(filepath.Join(o.Dir, "closed"), os.Getuid(), os.Getgid()))
	if os.Getuid() == 0 {
		if _, err := s.ReadFile(t.Context(), "closed"); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("read a file of another user: %v", err)
		}
		if err := s.WriteFile(t.Context(), "closed", nil); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("write a file of another user: %v", err)
		}
	}
}

func TestNamesOfAllKinds(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			s := open(t, options(t, kind))
			names := []string{" lead", "-n", "a'b", `a"b\`, "a\nb", "*", "$(x)", ".hidden", "..dots", "tab\t", "\xff", "世界"}
			for _, name := range names {
				must(t, s.WriteFile(t.Context(), "f/"+name, []byte(name)))
				got, err := s.ReadFile(t.Context(), "f/"+name)
				if err != nil || string(got) != name {
					t.Errorf("%q holds %q, %v", name, got, err)
				}
				if c, err := s.Canonical("f/" + name); err != nil || c != "f/"+name {
					t.Errorf("%q is canonically %q, %v", name, c, err)
				}
			}
			entries, err := s.List(t.Context(), "f")
			must(t, err)
			var got []string
			for _, e := range entries {
				got = append(got, e.Name)
				if e.Size != int64(len(e.Name)) || e.Path != "f/"+e.Name || e.IsDir || e.Mode != 0o644 {
					t.Errorf("%+v", e)
				}
			}
			if diff := cmp.Diff(sortedCopy(names), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			must(t, s.WriteFile(t.Context(), "\xff\n/f", []byte("deep")))
			r, err := s.Exec(t.Context(), sandbox.Command{Shell: "cat f", Dir: "\xff\n"})
			if err != nil || r.Stdout != "deep" {
				t.Errorf("in a folder whose name is no UTF-8: %+v, %v", r, err)
			}
			if _, err := s.Exec(t.Context(), sandbox.Command{Args: []string{"echo", "\xff"}}); !errors.Is(err, sandbox.ErrUnsupported) {
				t.Errorf("an argument that is no UTF-8: %v", err)
			}
			for _, name := range names {
				must(t, s.Remove(t.Context(), "f/"+name))
			}
			if entries, err := s.List(t.Context(), "f"); err != nil || len(entries) > 0 {
				t.Errorf("%v are left, %v", entries, err)
			}
		})
	}
}

func TestFileErrors(t *testing.T) {
	s := open(t, options(t, "volume"))
	shell(t, s, `mkfifo pipe; echo x >file; chmod 755 file; ln -s loop loop; ln -s /workspace/file absolute; ln -s ../workspace/file around; ln -s /proc/self/root/etc/passwd out; mkdir closed; chmod 0 closed`)
	ctx := t.Context()
	read := func(name string) error { _, err := s.ReadFile(ctx, name); return err }
	list := func(name string) error { _, err := s.List(ctx, name); return err }
	write := func(name string) error { return s.WriteFile(ctx, name, []byte("y")) }
	for name, test := range map[string]struct{ got, want error }{
		"read a pipe":           {read("pipe"), sandbox.ErrNotRegular},
		"write a pipe":          {write("pipe"), sandbox.ErrNotRegular},
		"read a folder":         {read("."), sandbox.ErrNotRegular},
		"write a folder":        {write("."), sandbox.ErrNotRegular},
		"list a file":           {list("file"), syscall.ENOTDIR},
		"read below a file":     {read("file/x"), syscall.ENOTDIR},
		"list a closed folder":  {list("closed"), fs.ErrPermission},
		"read in a closed one":  {read("closed/x"), fs.ErrPermission},
		"write in a closed one": {write("closed/x"), fs.ErrPermission},
		"through /proc":         {read("out"), sandbox.ErrEscape},
		"a zero byte":           {read("a\x00b"), fs.ErrInvalid},
		"an absolute link":      {read("absolute"), nil},
		"a link around":         {read("around"), nil},
	} {
		if !errors.Is(test.got, test.want) {
			t.Errorf("%s: got %v, want %v", name, test.got, test.want)
		}
	}
	if err := read("loop"); err == nil || !strings.Contains(err.Error(), "too many levels") {
		t.Errorf("read a link to itself: %v", err)
	}
	must(t, write("file"))
	if e, err := s.Stat(ctx, "file"); err != nil || e.Mode != 0o755 || e.Size != 1 || time.Since(e.ModTime) > time.Hour {
		t.Errorf("the file that was written is %+v, %v", e, err)
	}
	if r := shell(t, s, "ls -a | grep rath; true"); r.Stdout != "" {
		t.Errorf("left behind: %s", r.Stdout)
	}
}

func TestPolicyPaths(t *testing.T) {
	o := options(t, "directory")
	read, write := t.TempDir(), t.TempDir()
	for _, dir := range []string{"keep/inner", "a/b/c"} {
		must(t, os.MkdirAll(filepath.Join(o.Dir, dir), 0o755))
	}
	for _, name := range []string{filepath.Join(read, "f"), filepath.Join(o.Dir, "keep/inner/f"), filepath.Join(o.Dir, "a/b/c/f"), filepath.Join(o.Dir, "secret"), filepath.Join(o.Dir, "a/key")} {
		must(t, os.WriteFile(name, []byte("text"), 0o644))
	}
	o.Policy.ReadOnly = []string{read, "keep", filepath.Join(o.Dir, "a/b/c")}
	o.Policy.Writable = []string{write}
	must(t, os.Mkdir(filepath.Join(o.Dir, "home"), 0o755))
	must(t, os.WriteFile(filepath.Join(o.Dir, "home/key"), []byte("text"), 0o644))
	o.Hidden = []string{"secret", "a/key", "home", "later", "not/there", "/etc/passwd"}
	s := open(t, o)
	ctx := t.Context()
	r := shell(t, s, fmt.Sprintf("cat %s/f; for f in %[1]s/f keep/inner/f a/b/c/f; do echo x >$f; rm -f $f; mv $f x; done; mv a moved; mv keep moved; mv a/b moved; cat secret a/key home/key; echo x >home/key; mv home away; echo new >%s/f", read, write))
	if r.Stdout != "text" {
		t.Errorf("%+v", r)
	}
	if got, err := os.ReadFile(filepath.Join(write, "f")); string(got) != "new\n" {
		t.Errorf("what is writable holds %q, %v", got, err)
	}
	for _, name := range []string{filepath.Join(read, "f"), filepath.Join(o.Dir, "keep/inner/f"), filepath.Join(o.Dir, "a/b/c/f"), filepath.Join(o.Dir, "secret"), filepath.Join(o.Dir, "a/key"), filepath.Join(o.Dir, "home/key")} {
		if got, err := os.ReadFile(name); string(got) != "text" {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	for name, want := range map[string]error{"keep/inner/f": fs.ErrPermission, "keep/new": fs.ErrPermission, "a/b/c/f": fs.ErrPermission, "secret": sandbox.ErrHidden, "a/key": sandbox.ErrHidden, "home": sandbox.ErrHidden, "home/key": sandbox.ErrHidden, "later": sandbox.ErrHidden} {
		if err := s.WriteFile(ctx, name, nil); !errors.Is(err, want) {
			t.Errorf("write %s: %v", name, err)
		}
		if err := s.Remove(ctx, name); name != "keep/new" && !errors.Is(err, want) {
			t.Errorf("remove %s: %v", name, err)
		}
	}
	for _, name := range []string{"keep", "a", "a/b", "a/b/c"} {
		if err := s.Remove(ctx, name); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("remove %s: %v", name, err)
		}
	}
	entries, err := s.List(ctx, "a")
	if err != nil || len(entries) != 1 || entries[0].Name != "b" {
		t.Errorf("the folder with a hidden file has %+v, %v", entries, err)
	}
	if _, err := os.Lstat(filepath.Join(o.Dir, "later")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is hidden and not there: %v", err)
	}
}

func TestReadOnlyRoot(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			o := options(t, kind)
			o.ReadOnlyRoot = true
			s := open(t, o)
			r := shell(t, s, `for d in / /bin /etc /home /root; do echo x >$d/x; done; echo 1 >/tmp/x; echo 2 >here; cat /tmp/x here; echo $HOME`)
			if r.Stdout != "1\n2\n/tmp\n" {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	o := options(t, "volume")
	o.Env = []string{"FIXED=a b"}
	o.Policy.Env = []string{"ALLOWED", "UNSET"}
	o.Getenv = func(name string) (string, bool) {
		v, ok := map[string]string{"ALLOWED": "yes", "OPENAI_API_KEY": "sk-1"}[name]
		return v, ok
	}
	s := open(t, o)
	if r := shell(t, s, `echo "$FIXED $ALLOWED $OPENAI_API_KEY $HOME"; echo x >~/x; cat ~/x`); r.Stdout != "a b yes  /home/rath\nx\n" {
		t.Errorf("%+v", r)
	}
	c := engine(t)
	found, err := c.ContainerInspect(t.Context(), "rath-"+s.ID(), client.ContainerInspectOptions{})
	must(t, err)
	if strings.Contains(string(found.Raw), "yes") {
		t.Error("an inherited value is kept with the container")
	}
}

func TestPauseAndResume(t *testing.T) {
	s := open(t, options(t, "directory"))
	c, err := docker.NewClient("")
	must(t, err)
	defer c.Close()
	must(t, c.Pause(t.Context(), s.ID()))
	if i, err := c.Get(t.Context(), s.ID()); err != nil || i.State != "paused" {
		t.Errorf("%+v, %v", i, err)
	}
	_, err = s.Exec(t.Context(), sandbox.Command{Shell: "true"})
	var e *sandbox.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "paused") || e.Hint() == "" {
		t.Errorf("a command in a paused sandbox: %v", err)
	}
	must(t, c.Resume(t.Context(), s.ID()))
	if r := shell(t, s, "echo ok"); r.Stdout != "ok\n" {
		t.Errorf("%+v", r)
	}
	if err := c.Pause(t.Context(), "no-such"); !errors.Is(err, docker.ErrNotFound) {
		t.Errorf("pause what is not there: %v", err)
	}
}

func TestRunCodeErrors(t *testing.T) {
	s := open(t, options(t, "volume"))
	r, err := s.RunCode(t.Context(), sandbox.Code{Language: "bash", Source: "echo out; exit 7"})
	if errors.Is(err, sandbox.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || r.Stdout != "out\n" || r.ExitCode != 7 || r.Error != "exit code 7" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := s.RunCode(t.Context(), sandbox.Code{Language: "node", Source: "1"}); !errors.Is(err, sandbox.ErrUnsupported) {
		t.Errorf("a language that the image does not have: %v", err)
	}
}

func ExampleOpen() {
	ctx := context.Background()
	sb, err := docker.Open(ctx, &docker.Options{
		Image:  "debian:stable",
		Dir:    ".",
		Policy: sandbox.Policy{Limits: sandbox.Limits{Memory: 1 << 30, Processes: 100}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sb.Close()
	r, err := sb.Exec(ctx, sandbox.Command{Shell: "ls"})
	fmt.Print(r.Stdout, err)
}
