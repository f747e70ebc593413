package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/sandbox"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestWhatIsHidden(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(top, "user", "home")
	desk := filepath.Join(home, "sandboxes", "local", "id")
	project := filepath.Join(top, "project")
	if err := errors.Join(os.MkdirAll(desk, 0o700), os.MkdirAll(project, 0o700)); err != nil {
		t.Fatal(err)
	}
	var each []string
	for _, name := range homeNames() {
		each = append(each, filepath.Join(home, name))
	}
	for _, test := range []struct {
		name, dir string
		hidden    []string
		excluded  []string
	}{
		{"the home is elsewhere", project, []string{home}, nil},
		{"the home is inside", filepath.Join(top, "user"), []string{home}, []string{"home"}},
		{"the home is deep inside", top, []string{home}, []string{"user/home"}},
		{"the workspace is in the home", desk, []string{home}, nil},
		{"the workspace is the home", home, each, homeNames()},
	} {
		c, err := config.Load(home)
		if err != nil {
			t.Fatal(err)
		}
		hidden := hiddenFrom(test.dir, c, home)
		if diff := cmp.Diff(test.hidden, hidden); diff != "" {
			t.Errorf("%s: hidden: %s", test.name, diff)
		}
		if diff := cmp.Diff(test.excluded, excluded(test.dir, hidden)); diff != "" {
			t.Errorf("%s: excluded: %s", test.name, diff)
		}
	}
}

func TestWhereALinkLeadsIsHidden(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, dir := filepath.Join(top, "home"), filepath.Join(top, "dotfiles")
	keys := filepath.Join(dir, "keys.json")
	err = errors.Join(os.Mkdir(home, 0o700), os.Mkdir(dir, 0o700), os.WriteFile(keys, []byte("{}"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(keys, filepath.Join(home, "credentials.json")); err != nil {
		t.Skip(err)
	}
	c, err := config.Load(home)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"keys.json"}, excluded(dir, hiddenFrom(dir, c, home))); diff != "" {
		t.Error(diff)
	}
}

func TestRules(t *testing.T) {
	kept := sandbox.Policy{Level: "landlock", Network: "allow", ReadOnly: []string{"/kept"}, Limits: sandbox.Limits{CPU: time.Second, Memory: 1, OpenFiles: 9}}
	here, err := filepath.Abs("here")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		args []string
		base sandbox.Policy
		want sandbox.Policy
	}{
		{"nothing", nil, sandbox.Policy{}, sandbox.Policy{Level: "strongest"}},
		{"what was kept", nil, kept, kept},
		{
			"all flags", []string{"--isolation=host", "--network=deny", "--read-only=here", "--writable=/a", "--writable=/b", "--max-cpu=2s", "--max-memory=1G", "--max-processes=40", "--max-file-size=1M"}, kept,
			sandbox.Policy{
				Level: "host", Network: "deny", ReadOnly: []string{here}, Writable: []string{"/a", "/b"},
				Limits: sandbox.Limits{CPU: 2 * time.Second, Memory: 1 << 30, Processes: 40, FileSize: 1 << 20, OpenFiles: 9},
			},
		},
	} {
		var r rules
		cmd := &cobra.Command{}
		r.flags(cmd)
		if err := cmd.ParseFlags(test.args); err != nil {
			t.Fatal(err)
		}
		got, err := r.over(test.base)
		if err = errors.Join(err, r.check()); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if named := r.named() != ""; named != (test.args != nil) {
			t.Errorf("%s: named %v", test.name, named)
		}
	}
}

// Each flag is looked at by itself, so that none can be forgotten.
func TestEachRuleIsNamedAndSet(t *testing.T) {
	values := map[string]string{
		"isolation": "host", "network": "allow", "read-only": "/a", "writable": "/b",
		"max-memory": "1G", "max-cpu": "2s", "max-processes": "40", "max-file-size": "1M",
	}
	var all rules
	cmd := &cobra.Command{}
	all.flags(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		var r rules
		one := &cobra.Command{}
		r.flags(one)
		if err := one.ParseFlags([]string{"--" + f.Name + "=" + values[f.Name]}); err != nil {
			t.Fatal(err)
		}
		got, err := r.over(sandbox.Policy{Level: "landlock"})
		if err != nil || cmp.Equal(got, sandbox.Policy{Level: "landlock"}) || r.named() != f.Name {
			t.Errorf("--%s: %+v, named %q, %v", f.Name, got, r.named(), err)
		}
	})
}

func TestLimitsThatNothingRunsIn(t *testing.T) {
	for _, test := range []struct {
		arg     string
		refused bool
		hint    bool
	}{
		{"--max-cpu=0", false, false}, {"--max-cpu=1s", false, false}, {"--max-cpu=999ms", true, true}, {"--max-cpu=-1s", true, true},
		{"--max-memory=0", false, false}, {"--max-memory=16M", false, false}, {"--max-memory=512", true, true},
		{"--max-processes=0", false, false}, {"--max-processes=-1", true, false}, {"--max-file-size=1", false, false},
	} {
		var r rules
		cmd := &cobra.Command{}
		r.flags(cmd)
		if err := cmd.ParseFlags([]string{test.arg}); err != nil {
			t.Fatal(err)
		}
		err := r.check()
		if (err != nil) != test.refused || test.hint != (err != nil && hintOf(err) != "") {
			t.Errorf("%s: %v, hint %q", test.arg, err, hintOf(err))
		}
	}
}

func TestResolvedGoesAsFarAsThereIsAFile(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(top, "real"), filepath.Join(top, "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]string{
		link:                            real,
		filepath.Join(link, "a", "b"):   filepath.Join(real, "a", "b"),
		filepath.Join(top, "none", "x"): filepath.Join(top, "none", "x"),
	} {
		if got := resolved(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
