package tool

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/workspace"
)

type named struct {
	Text string `json:"text"`
}

// Around calls that can change files, and only around those, snapshots are kept. That there
// can be none does not keep a call from running.
func TestChange(t *testing.T) {
	write := New("write", "Write.", func(ctx context.Context, in named) (string, error) {
		sb, err := SandboxOf(ctx)
		if err != nil {
			return "", err
		}
		return "written", sb.WriteFile(ctx, in.Text, []byte(in.Text))
	})
	look := New("look", "Look.", func(context.Context, named) (string, error) { return "seen", nil })
	look.Class = effect.ReadOnly
	d := Dispatch{Tools: Set{write, look}, Owner: "runs/1"}
	calls := []session.Call{{ID: "1", Name: "write", Arguments: `{"text":"a"}`}, {ID: "2", Name: "look", Arguments: `{"text":""}`}, {ID: "3", Name: "write", Arguments: `{"text":"b"}`}}

	for _, most := range []int{0, 2} {
		ws, err := workspace.Open(t.Context(), filepath.Join(t.TempDir(), "shadow"), &workspace.Options{MaxFiles: most})
		if err != nil {
			t.Skip(err)
		}
		dir := t.TempDir()
		for _, name := range []string{"1", "2", "3"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		sb, err := local.Open(t.Context(), dir, &local.Options{Policy: sandbox.Policy{Level: sandbox.LevelHost}, Workspace: ws})
		if err != nil {
			t.Fatal(err)
		}
		done, err := d.Run(t.Context(), session.FromUser("x").To(sb), calls)
		if err != nil {
			t.Fatal(err)
		}
		if done[1].Change != (Change{}) {
			t.Errorf("a call that only reads has %+v", done[1].Change)
		}
		for _, i := range []int{0, 2} {
			c := done[i].Change
			if done[i].Chunk.Answer().Outcome != session.OK {
				t.Errorf("the call gave %s", done[i].Chunk.Text())
			}
			switch {
			case most > 0:
				if c.Before != "" || c.After != "" || !strings.Contains(c.Problem, workspace.ErrTooLarge.Error()) {
					t.Errorf("%+v", c)
				}
				continue
			case c.Problem != "" || c.Number == 0:
				t.Fatalf("%+v", c)
			}
			changes, err := ws.Diff(t.Context(), c.Before, c.After)
			if err != nil || len(changes) != 1 || changes[0].Kind != workspace.Added {
				t.Errorf("%v, %v", changes, err)
			}
		}
		if done[0].Change.Number > done[2].Change.Number {
			t.Error("calls one after the other have their versions in another order")
		}
		if kept, err := ws.Kept(t.Context(), "runs/1"); err != nil || most == 0 && len(kept) != 3 {
			t.Errorf("kept are %v, %v", kept, err)
		}
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	}
}
