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
	var each, others []string
	for _, name := range homeNames() {
		each = append(each, filepath.Join(home, name))
		if name != "sandboxes" {
			others = append(others, filepath.Join(home, name))
		}
	}
	for _, test := range []struct {
		name, dir string
		hidden    []string
		excluded  []string
	}{
		{"the home is elsewhere", project, each, nil},
		{"the home is inside", filepath.Join(top, "user"), []string{home}, []string{"home"}},
		{"the home is deep inside", top, []string{home}, []string{"user/home"}},
		{"the workspace is in the home", desk, others, nil},
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
			"all flags", []string{"--isolation=host", "--network=deny", "--read-only=here", "--writable=/a", "--writable=/b", "--max-cpu=2s", "--max-memory=1K"}, kept,
			sandbox.Policy{
				Level: "host", Network: "deny", ReadOnly: []string{here}, Writable: []string{"/a", "/b"},
				Limits: sandbox.Limits{CPU: 2 * time.Second, Memory: 1024, OpenFiles: 9},
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
