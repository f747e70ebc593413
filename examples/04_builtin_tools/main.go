// The built-in tools: files, search, commands and code in the session's sandbox.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool/builtin"
)

func main() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "tools")
	defer os.RemoveAll(dir)
	sb, err := local.Open(ctx, dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sb.Close()

	agent := &flow.Agent{Model: live.Or(offline.New()), Tools: builtin.All()}
	s := session.Session{}.To(sb)
	for _, request := range []string{
		`Write "to do: tea" to list.txt, then read it`,
		`Search for "tea"`,
		"Find *.txt",
		"Run `wc -c <list.txt`",
	} {
		if s, err = agent.Forward(ctx, s.Append(session.User(session.Text(request)))); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Text())
	}
}
