package builtin_test

import (
	"context"
	"io/fs"
	"testing"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
)

// refusing is a driver of a workspace with a file that can be read, and such as cannot.
type refusing struct{ driver.Sandbox }

func (refusing) Placement() driver.Placement           { return driver.Placement{Backend: "refusing"} }
func (refusing) Canonical(name string) (string, error) { return name, nil }

func (refusing) List(_ context.Context, dir string) (list []driver.Entry, err error) {
	if dir != "." {
		return nil, failures[dir]
	}
	for _, name := range []string{"closed", "gone"} {
		list = append(list, driver.Entry{Name: name, Path: name, IsDir: true})
	}
	for _, name := range []string{"fifo", "hidden", "late", "open", "outside", "shut"} {
		list = append(list, driver.Entry{Name: name, Path: name})
	}
	return list, nil
}

func (refusing) Read(_ context.Context, name string, _ int64, _ int) ([]byte, int64, error) {
	return []byte("hit"), 3, failures[name]
}

var failures = map[string]error{
	"closed": fs.ErrPermission, "gone": fs.ErrNotExist, "fifo": driver.ErrNotRegular, "hidden": driver.ErrHidden,
	"late": fs.ErrNotExist, "outside": driver.ErrEscape, "shut": fs.ErrPermission,
}

// What cannot be read is passed over, and named where it is the user's to mend.
func TestUnreadable(t *testing.T) {
	s := session.Session{}.To(sandbox.New(refusing{}))
	d := tool.Dispatch{Tools: builtin.All()}
	for _, test := range []struct{ name, args, want string }{
		{"find_workspace_files", `{"glob":"o*"}`, `{"paths":["open","outside"],"skipped":["closed"]}`},
		{"search_workspace", `{"pattern":"hit"}`, `{"matches":[{"path":"open","line":1,"text":"hit"}],"skipped":["closed","shut"]}`},
		{"search_workspace", `{"pattern":"hit","path":"closed"}`, `{"ok":false,"error_kind":"permission_denied","message":"list closed: permission denied"}`},
	} {
		chunks, err := chunksOf(d.Run(t.Context(), s, []session.Call{{ID: "c", Name: test.name, Arguments: test.args}}))
		if got := chunks[0].Text(); err != nil || got != test.want {
			t.Errorf("%s %s: %v\n got %s\nwant %s", test.name, test.args, err, got, test.want)
		}
	}
}
