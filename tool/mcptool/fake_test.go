//go:build unix

package mcptool

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"go.uber.org/goleak"
)

// helperEnv names what the test binary is to be instead of running the tests.
const helperEnv = "RATH_TEST_MCP"

func TestMain(m *testing.M) {
	if how := os.Getenv(helperEnv); how != "" {
		help(how)
		return
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // the tests wait more than they work
	goleak.VerifyTestMain(m)
}

// help is a server that speaks over the standard streams, in one of many ways.
func help(how string) {
	switch how {
	case "conformance":
		conform()
		return
	case "holder": // has a server itself
		c, err := Connect(context.Background(), Server{Command: []string{os.Args[0]}, Env: map[string]string{helperEnv: "stubborn"}}, nil)
		if err == nil {
			fmt.Println(c.current().process.group.Load().Process.Pid)
		}
		time.Sleep(time.Hour)
	case "mute":
		fmt.Fprintln(os.Stderr, "I do not talk")
		time.Sleep(time.Hour)
	case "broken":
		fmt.Fprintln(os.Stderr, "\x1b[31mcannot start: the key "+os.Getenv("SECRET")+" is wrong")
		os.Exit(3)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		defer time.Sleep(time.Hour)
	case "family":
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), helperEnv+"=mute")
		if err := child.Start(); err == nil {
			os.Setenv("CHILD", fmt.Sprint(child.Process.Pid))
		}
	}
	transport := mcp.Transport(&mcp.StdioTransport{})
	if how == "old" {
		transport = &oldTransport{}
	}
	_ = newServer().Run(context.Background(), transport)
}

// oldTransport never sees the question that the newest protocol begins with.
type oldTransport struct{ mcp.StdioTransport }

func (o *oldTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := o.StdioTransport.Connect(ctx)
	return &oldConn{conn}, err
}

type textIn struct {
	Text string `json:"text"`
}

// newServer makes a server with tools of every kind.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, &mcp.ServerOptions{Instructions: "Be \x1b[31mgood."})
	hint := func(readOnly, idempotent bool) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{ReadOnlyHint: readOnly, IdempotentHint: idempotent}
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Say it \x1b[2Jagain.\u202e", Annotations: hint(true, false)}, text(func(_ context.Context, in textIn) string { return in.Text }))
	mcp.AddTool(s, &mcp.Tool{Name: "put", Annotations: hint(false, true)}, text(func(context.Context, textIn) string { return "put" }))
	mcp.AddTool(s, &mcp.Tool{Name: "pid"}, text(func(context.Context, textIn) string { return fmt.Sprint(os.Getpid()) }))
	mcp.AddTool(s, &mcp.Tool{Name: "getenv"}, text(func(_ context.Context, in textIn) string { return os.Getenv(in.Text) }))
	mcp.AddTool(s, &mcp.Tool{Name: "sleep"}, text(func(ctx context.Context, in textIn) string {
		d, _ := time.ParseDuration(in.Text)
		select {
		case <-time.After(d):
			return "slept"
		case <-ctx.Done():
			cancelled.Add(1)
			return "cancelled"
		}
	}))
	mcp.AddTool(s, &mcp.Tool{Name: "hang"}, text(func(context.Context, textIn) string {
		if os.Getenv(helperEnv) != "" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
		time.Sleep(time.Hour) // what is to stop may take a moment
		return ""
	}))
	mcp.AddTool(s, &mcp.Tool{Name: "die"}, text(func(context.Context, textIn) string {
		fmt.Fprintln(os.Stderr, "\x1b[31mout of luck")
		os.Exit(7)
		return ""
	}))
	addAskers(s)
	return s
}

func text(fn func(context.Context, textIn) string) mcp.ToolHandlerFor[textIn, any] {
	return func(ctx context.Context, _ *mcp.CallToolRequest, in textIn) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fn(ctx, in)}}}, nil, nil
	}
}

// raw adds a tool that takes anything and gives the result.
func raw(s *mcp.Server, name string, fn func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, fn)
}

// inMemory has a server in this program.
func inMemory(s *mcp.Server) Server {
	return Server{Name: "fake", Transport: func(ctx context.Context) (mcp.Transport, error) {
		here, there := mcp.NewInMemoryTransports()
		_, err := s.Connect(ctx, there, nil)
		return here, err
	}}
}

// helper has one in a program of its own.
func helper(t *testing.T, how string) Server {
	t.Helper()
	return Server{Name: "fake", Command: []string{os.Args[0]}, Env: map[string]string{helperEnv: how, "SECRET": "sk-0123456789"}}
}

// overHTTP has one behind HTTP.
func overHTTP(t *testing.T, s *mcp.Server, wrap func(http.Handler) http.Handler) Server {
	t.Helper()
	handler := http.Handler(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		for session := range s.Sessions() {
			session.Close()
		}
		server.CloseClientConnections()
		server.Close()
	})
	return Server{Name: "fake", URL: server.URL + "/mcp"}
}

func connect(t *testing.T, s Server, opts *Options) *Client {
	t.Helper()
	if opts == nil {
		opts = &Options{}
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	c, err := Connect(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// call has a model's call dispatched, and gives its result's text.
func call(t *testing.T, ctx context.Context, c *Client, name, arguments string) (string, session.Chunk) {
	t.Helper()
	d := tool.Dispatch{Tools: c.Tools()}
	done, _ := d.Run(tool.WithApprover(ctx, tool.AllowAll), session.FromUser("go"), []session.Call{{ID: "1", Name: c.Name() + "__" + name, Arguments: arguments}})
	return done[0].Chunk.Text(), done[0].Chunk
}

// expect calls a tool and looks for a text in what it gives.
func expect(t *testing.T, c *Client, name, arguments, want string) {
	t.Helper()
	if got, _ := call(t, t.Context(), c, name, arguments); !strings.Contains(got, want) {
		t.Errorf("%s%s gives %.300q, not %q", name, arguments, got, want)
	}
}
