// A session is placed on a sandbox, as a tensor on a device: there its tools run, and
// nowhere else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool/builtin"
)

func main() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "sandbox")
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("one two three\n"), 0o600)

	sb, err := local.Open(ctx, dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sb.Close()
	fmt.Println("level:", sb.Policy().Level)

	agent := &flow.Agent{Model: live.Or(offline.New()), Tools: builtin.ReadOnly()}
	for _, request := range []string{"Count the words in notes.txt", "Read ../../etc/passwd"} {
		out, err := agent.Forward(ctx, session.FromUser(request).To(sb))
		fmt.Println(out.Text(), err)
	}

	// What a level cannot enforce is refused, never weakened.
	_, err = local.Open(ctx, dir, &local.Options{Policy: sandbox.Policy{Level: "host", Network: "deny"}})
	fmt.Println("refused:", errors.Is(err, sandbox.ErrUnsupported))
}
