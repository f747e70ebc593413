// Built-in tools: what every agent can be given, as operators come with PyTorch: files, search,
// commands and code. A tool acts on the session's sandbox and nowhere else, and says what it
// may change, so that calls which do not disturb each other run at the same time.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool/builtin"
)

// The tools are a plain slice: take some, add your own. [builtin.ReadOnly] has those that change
// nothing.
func main() {
	model := live.Or(offline.New())
	for _, t := range builtin.All() {
		fmt.Println(t.Name, t.Class)
	}
	if err := work(context.Background(), model); err != nil {
		log.Fatal(err)
	}
}

// Without -live a rule-follower calls the tools, with real arguments and on real files. Each
// request goes on from the session before, whose files are still there.
func work(ctx context.Context, model llm.Model) error {
	dir, err := os.MkdirTemp("", "rath")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sb, err := local.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer sb.Close()

	agent := &flow.Agent{Model: model, Tools: builtin.All()}
	s := session.Session{}.To(sb)
	for _, request := range []string{
		`Write "to do: tea" to list.txt, then read it`,
		`Search for "tea"`,
		"Find *.txt",
		"Run `wc -c <list.txt`",
	} {
		if s, err = agent.Forward(ctx, s.Append(session.User(session.Text(request)))); err != nil {
			return err
		}
		fmt.Println(s.Text())
	}
	return nil
}
