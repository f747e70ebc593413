// Workspace branches: three agents change the same files at the same time, each in a fork of the
// workspace, as replicas of a model each have their own batch. What goes together is merged; what
// does not is an error with both sides, or the work of one more agent.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
	"github.com/openrath-go/rath/workspace"
)

// menu is the file that all of them work on.
const menu = `Tea        3
Coffee     3
Cocoa      4
Cake       5
Open from 9 to 5
`

// editor is an agent that writes a file and says what it did.
func editor(name, file, content string) *flow.Agent {
	arguments, _ := json.Marshal(map[string]string{"path": file, "content": content})
	return &flow.Agent{
		Name: name, Prompt: fmt.Sprintf("Write exactly this to %s with one call, then say that you have:\n%s", file, content),
		Tools: tool.Set{builtin.All().Find("write_workspace_file")},
		Model: live.Or(scripted.Func(func(req *llm.Request) scripted.Reply {
			if req.Messages.Last().Kind() == session.KindToolResult {
				return scripted.Reply{Text: name + ": done"}
			}
			return scripted.Reply{Calls: []session.Call{scripted.Call("write_workspace_file", string(arguments))}}
		})),
	}
}

// editors change the menu, two of them the same line, and agree is who makes one of both.
func editors() (branches []flow.Workflow, agree *flow.Agent) {
	return []flow.Workflow{
		editor("prices", "menu.txt", "Tea        4\n"+menu[13:]),
		editor("hours", "menu.txt", menu[:52]+"Open from 8 to 6\n"),
		editor("names", "menu.txt", "Green tea  3\n"+menu[13:]),
	}, editor("agree", "menu.txt", "Green tea  4\n"+menu[13:52]+"Open from 8 to 6\n")
}

// open opens a workspace with the menu in it, and a store for its snapshots beside it.
func open(ctx context.Context, dir string) (*sandbox.Sandbox, error) {
	store, err := workspace.Open(ctx, filepath.Join(dir, "snapshots"), nil)
	if err != nil {
		return nil, err
	}
	shop := filepath.Join(dir, "shop")
	if err := os.Mkdir(shop, 0o700); err != nil {
		return nil, err
	}
	sb, err := local.Open(ctx, shop, &local.Options{Workspace: store})
	if err != nil {
		return nil, err
	}
	return sb, sb.WriteFile(ctx, "menu.txt", []byte(menu))
}

// [flow.Parallel] forks the session and the workspace, runs the branches, and merges both. Where
// two have changed the same line, nothing is decided in secret: the workspace is as it was, and
// the error has the base and both sides. A workflow in Resolve is given them to make one of.
func demo(ctx context.Context, sb *sandbox.Sandbox, branches []flow.Workflow, agree flow.Workflow) error {
	in := session.FromUser("Bring the menu up to date.").To(sb)
	_, err := (&flow.Parallel{Branches: branches}).Forward(ctx, in)
	var conflict *flow.ConflictError
	if !errors.As(err, &conflict) {
		return fmt.Errorf("there is no conflict: %w", err)
	}
	c := conflict.Conflicts[0]
	fmt.Printf("conflict in %s with branch %d; the workspace is as it was:\n", c.Path, c.Branch)
	if err := show(ctx, sb); err != nil {
		return err
	}

	out, err := (&flow.Parallel{Branches: branches, Resolve: agree}).Forward(ctx, in)
	if err != nil {
		return err
	}
	fmt.Println("resolved, merged:")
	if err := show(ctx, sb); err != nil {
		return err
	}
	now, _ := out.Snapshot()
	changes, err := sb.Workspace().Diff(ctx, conflict.Base, now)
	if err != nil {
		return err
	}
	fmt.Print("in all: ", changes[0], "\n")
	return nil
}

func show(ctx context.Context, sb *sandbox.Sandbox) error {
	data, err := sb.ReadFile(ctx, "menu.txt")
	fmt.Printf("%s", data)
	return err
}

func main() {
	if err := work(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context) error {
	branches, agree := editors()
	dir, err := os.MkdirTemp("", "rath")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sb, err := open(ctx, dir)
	if err != nil {
		return err
	}
	defer sb.Close()
	return demo(ctx, sb, branches, agree)
}
