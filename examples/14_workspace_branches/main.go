// Workspace branches: three agents change the same files at the same time, each in a fork
// of the workspace. What goes together is merged; what does not is an error with both
// sides, or the work of one more agent.
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
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
	"github.com/openrath-go/rath/workspace"
)

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
		Model: live.Or(scripted.New(
			scripted.Reply{Calls: []session.Call{scripted.Call("write_workspace_file", string(arguments))}},
			scripted.Reply{Text: name + ": done"},
		)),
	}
}

// editors change the menu: two of them the same line.
func editors() []flow.Workflow {
	return []flow.Workflow{
		editor("prices", "menu.txt", "Tea        4\n"+menu[13:]),
		editor("hours", "menu.txt", menu[:52]+"Open from 8 to 6\n"),
		editor("names", "menu.txt", "Green tea  3\n"+menu[13:]),
	}
}

func main() {
	ctx := tool.WithApprover(context.Background(), tool.AllowAll)
	dir, err := os.MkdirTemp("", "rath")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sb, err := open(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	if err := demo(ctx, sb); err != nil {
		log.Fatal(err)
	}
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

func demo(ctx context.Context, sb *sandbox.Sandbox) error {
	in := session.FromUser("Bring the menu up to date.").To(sb)
	_, err := (&flow.Parallel{Branches: editors()}).Forward(ctx, in)
	var conflict *flow.ConflictError
	if !errors.As(err, &conflict) {
		return fmt.Errorf("there is no conflict: %w", err)
	}
	c := conflict.Conflicts[0]
	fmt.Printf("conflict in %s with branch %d; the workspace is as it was:\n", c.Path, c.Branch)
	if err := show(ctx, sb); err != nil {
		return err
	}

	agree := editor("agree", "menu.txt", "Green tea  4\n"+menu[13:52]+"Open from 8 to 6\n")
	out, err := (&flow.Parallel{Branches: editors(), Resolve: agree}).Forward(ctx, in)
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
