// A session is placed on a sandbox, as a tensor on a device: there its tools run, and
// nowhere else. What commands are kept from depends on the level, and what a level cannot
// enforce is refused.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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

func main() { show(context.Background(), os.Stdout) }

func show(ctx context.Context, w io.Writer) {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	work, diary := filepath.Join(dir, "work"), filepath.Join(dir, "diary.txt")
	os.Mkdir(work, 0o700)
	os.WriteFile(diary, []byte("dear diary\n"), 0o600)
	server, err := net.Listen("tcp", "127.0.0.1:0") // nobody has to answer
	if err != nil {
		fmt.Fprintln(w, err)
		return
	}
	defer server.Close()

	attempts := []attempt{
		{"read a file outside", "cat " + diary},
		{"connect to a server", fmt.Sprintf("bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d'", server.Addr().(*net.TCPAddr).Port)},
		{"signal another process", fmt.Sprintf("kill -0 %d", os.Getpid())},
	}
	for _, here := range local.Probe(ctx) {
		fmt.Fprintln(w, "level", here.Level)
		if here.Err != nil {
			refused(w, here.Err)
			continue
		}
		try(ctx, w, work, here.Level, attempts)
	}

	// A policy is enforced or refused, never weakened.
	_, err = local.Open(ctx, work, &local.Options{Policy: sandbox.Policy{Level: "host", Network: "deny"}})
	fmt.Fprintln(w, "no network, at level host")
	refused(w, err)

	// The session goes where the sandbox is, and its tools with it.
	sb, err := local.Open(ctx, work, &local.Options{Policy: sandbox.Policy{Level: sandbox.LevelStrongest}})
	if err != nil {
		fmt.Fprintln(w, err)
		return
	}
	defer sb.Close()
	agent := &flow.Agent{Model: live.Or(offline.New()), Tools: builtin.ReadOnly()}
	out, err := agent.Forward(ctx, session.FromUser("Read ../diary.txt").To(sb))
	fmt.Fprintln(w, out.Text(), err)
}

// refused shows why something is not done, and what would help.
func refused(w io.Writer, err error) {
	var refusal *sandbox.PolicyError
	if errors.As(err, &refusal) {
		fmt.Fprintf(w, "  refused: %v\n  hint: %s\n", refusal, refusal.Hint())
	}
}

// attempt is something that a model might have a command do.
type attempt struct{ what, shell string }

// try makes the attempts at a level.
func try(ctx context.Context, w io.Writer, dir, level string, attempts []attempt) {
	sb, err := local.Open(ctx, dir, &local.Options{Policy: sandbox.Policy{Level: level}})
	if err != nil {
		fmt.Fprintln(w, err)
		return
	}
	defer sb.Close()
	for _, a := range attempts {
		verdict := "it can"
		if r, err := sb.Exec(ctx, sandbox.Command{Shell: a.shell}); err != nil || r.ExitCode != 0 {
			verdict = "it cannot"
		}
		fmt.Fprintf(w, "  %-24s %s\n", a.what, verdict)
	}
}
