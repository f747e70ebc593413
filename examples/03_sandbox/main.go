// Sandboxes: a session is placed on a sandbox, as a tensor on a device: there its tools run,
// and nowhere else. The agent does not know where that is. What commands are kept from is up
// to the policy, which is enforced or refused, never weakened.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/sandbox/opensandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox/contract"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool/builtin"
)

// The same agent answers the same request on two sandboxes: a folder of this machine, and a
// container of an OpenSandbox server. What it makes stays placed where it was made, so that a
// later call finds the files of the one before. No file tool reaches a file outside the workspace.
func places(ctx context.Context, model llm.Model, work string) error {
	here, err := local.Open(ctx, work, nil)
	if err != nil {
		return err
	}
	defer here.Close()
	server, err := contract.New(nil) // for this example; a real one would be at http://localhost:8080
	if err != nil {
		return err
	}
	defer server.Close()
	there, err := opensandbox.Open(ctx, &opensandbox.Options{URL: server.URL(), Image: "python:3.13"})
	if err != nil {
		return err
	}
	defer there.Close()

	agent := &flow.Agent{Model: model, Tools: builtin.All()}
	for _, sb := range []*sandbox.Sandbox{here, there} {
		s := session.Session{}.To(sb)
		for _, request := range []string{fmt.Sprintf("Write %q to place.txt", sb.Placement().Backend), "Read place.txt", "Read ../diary.txt"} {
			if s, err = agent.Forward(ctx, s.Append(session.User(session.Text(request)))); err != nil {
				return err
			}
			fmt.Printf("%s: %s\n", s.Placement().Backend, s.Text())
		}
	}
	return nil
}

// A folder of this machine can be opened at one of three levels. What each stops is tried
// here, and depends on the machine: where a level cannot be had, it says why.
func levels(ctx context.Context, w io.Writer, work string) error {
	server, err := net.Listen("tcp", "127.0.0.1:0") // nobody has to answer
	if err != nil {
		return err
	}
	defer server.Close()
	attempts := []attempt{
		{"read a file outside", "cat ../diary.txt"},
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
	_, err = local.Open(ctx, work, &local.Options{Policy: sandbox.Policy{Level: sandbox.LevelHost, Network: "deny"}})
	fmt.Fprintln(w, "no network, at level host")
	refused(w, err)
	return nil
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

// workspace makes a folder to work in, and a diary beside it.
func workspace() (work string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "rath")
	if err != nil {
		return "", nil, err
	}
	work = filepath.Join(dir, "work")
	err = errors.Join(os.Mkdir(work, 0o700), os.WriteFile(filepath.Join(dir, "diary.txt"), []byte("dear diary\n"), 0o600))
	return work, func() { os.RemoveAll(dir) }, err
}

func main() {
	if err := show(context.Background(), live.Or(offline.New())); err != nil {
		log.Fatal(err)
	}
}

func show(ctx context.Context, model llm.Model) error {
	work, remove, err := workspace()
	if err != nil {
		return err
	}
	defer remove()
	if err := places(ctx, model, work); err != nil {
		return err
	}
	return levels(ctx, os.Stdout, work)
}
