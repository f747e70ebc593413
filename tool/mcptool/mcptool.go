// Package mcptool makes tools of MCP servers, which are programs that speak over their
// standard streams, or are reached by streamable HTTP. [Connect] opens one; its [Client]
// keeps one connection for all calls, and makes a new one when that is lost.
//
// What a server sends is not trusted: it is bounded, its names and descriptions are
// cleaned, and a tool that cannot be used is left out and told of. What it says of its
// tools' effects is believed unless [Server.IgnoreHints] is set.
//
// Next: [github.com/openrath-go/rath/tool/memorytool].
package mcptool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// Options say how to talk to a server. The zero Options are good: the server gets no
// model and asks no person.
type Options struct {
	// Sandbox is where the server's program runs, with the sandbox's rights and files. nil:
	// beside this program, with all of its rights. A sandbox must hand over the standard
	// input as it comes; that of OpenSandbox does not.
	Sandbox *sandbox.Sandbox
	// Elicit answers what the server asks a person while a tool runs. ctx is that call's,
	// whose time stands still meanwhile. nil: the server is told that nobody can be asked.
	Elicit func(ctx context.Context, e Elicitation) (Answer, error)
	// Sample answers for a model while a tool runs. ctx is that call's. The request's token
	// limit is the server's wish. nil: the server is told that there is no model for it.
	Sample func(ctx context.Context, req *llm.Request) (llm.Reply, error)
	// Progress is told how far a call is. ctx is the call's. It must return soon.
	Progress func(ctx context.Context, p Progress)
	// Changed is called after the server's tools have changed, one call at a time.
	Changed func(tool.Set)
	// Resources and Prompts add tools by which the model itself lists and reads the
	// server's resources and prompts, if it has any.
	Resources, Prompts bool
	// ConnectTimeout bounds making a connection, the server's start included. Zero: 30 s.
	ConnectTimeout time.Duration
	// HTTPClient makes the requests. nil: one of llm's.
	HTTPClient *http.Client
	// OAuth gets the tokens of a server behind HTTP that wants some, and is asked for others
	// when one is refused. nil: there is the server's Bearer and Header only.
	OAuth auth.OAuthHandler
	// Log gets what is worth knowing of the connection. nil: the default logger.
	Log *slog.Logger
}

// Progress is what a server says of a running call.
type Progress struct {
	Server, Tool string
	Call         session.Call
	Done, Total  float64 // Total is 0 where it is not known
	Message      string
}

// ErrClosed is what the calls of a closed client fail with.
var ErrClosed = errors.New("the client is closed")

// Error is a connection that could not be made, or a request that has failed. What is
// secret in the server's settings is taken out of its text.
type Error struct {
	Server string
	Op     string // "connect", "list tools", ...
	Err    error
	Stderr string // the last lines that the server's program wrote there, if any
}

func (e *Error) Error() string {
	text := fmt.Sprintf("mcp server %s: %s: %v", e.Server, e.Op, e.Err)
	if e.Stderr != "" {
		text += "\nits last lines were:\n" + e.Stderr
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do about it, if that is known.
func (e *Error) Hint() string {
	switch {
	case errors.Is(e.Err, exec.ErrNotFound):
		return "install the program, or give its path"
	case errors.Is(e.Err, context.DeadlineExceeded):
		return "if it only starts slowly, such as a program that installs itself first, start it once by hand"
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		return "start the server, and see that the URL is its endpoint, such as http://localhost:3000/mcp"
	case strings.Contains(e.Err.Error(), http.StatusText(http.StatusUnauthorized)): // the library has no other sign of it
		return "give the token that the server wants: rath config set mcp.servers.NAME.bearer_token TOKEN, and then --mcp NAME; in Go, Server.Bearer"
	case errors.Is(e.Err, sandbox.ErrUnsupported):
		return "run the server outside of the sandbox"
	}
	return ""
}

// Join puts the tools of several clients together. Their names begin with that of their
// server; it is an error if there still are two of one name.
func Join(clients ...*Client) (tool.Set, error) {
	var all tool.Set
	from := map[string]string{}
	for _, c := range clients {
		for _, t := range c.Tools() {
			if other, ok := from[t.Name]; ok {
				return nil, fmt.Errorf("the mcp servers %s and %s both have a tool %s: give one another name", other, c.server.Name, t.Name)
			}
			from[t.Name] = c.server.Name
			all = append(all, t)
		}
	}
	return all, nil
}

func (o *Options) connectTimeout() time.Duration { return cmp.Or(o.ConnectTimeout, 30*time.Second) }

func (o *Options) log() *slog.Logger { return cmp.Or(o.Log, slog.Default()) }
