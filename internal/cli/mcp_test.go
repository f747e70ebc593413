package cli_test

//lint:file-ignore SA1019 servers of before 2026 may ask for samples as long as there are any

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asRath in the environment makes the test's program the command.
const asRath = "RATH_TEST_AS_RATH"

// asking is an MCP server that asks back: asking [FILE that each start adds a line to].
func asking() {
	for _, file := range os.Args[1:] {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(f, "started with", os.Getenv("SECRET"))
		}
		if err = errors.Join(err, f.Close()); err != nil {
			log.Fatal(err)
		}
	}
	type text struct {
		Text string `json:"text"`
	}
	said := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "asking", Version: "1"}, &mcp.ServerOptions{
		SupportedProtocolVersions: []string{"2025-11-25"}, // in which a server asks by requests of its own
	})
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Say it again.", Annotations: reads},
		func(ctx context.Context, req *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			if token := req.Params.GetProgressToken(); token != nil {
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 2, Message: "half"})
				time.Sleep(100 * time.Millisecond) // or the answer overtakes it
			}
			return said("echo: " + in.Text), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "write", Description: "Write the file out.txt."},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			return said("written"), nil, os.WriteFile("out.txt", []byte(in.Text), 0o600)
		})
	mcp.AddTool(s, &mcp.Tool{Name: "color", Description: "Ask for a color.", Annotations: reads},
		func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Which color?", RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"color": map[string]any{"type": "string", "enum": []string{"red", "blue"}}}, "required": []string{"color"},
			}})
			if err != nil {
				return nil, nil, err
			}
			return said(fmt.Sprintf("%s %v", answer.Action, answer.Content["color"])), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "think", Description: "Ask a model.", Annotations: reads},
		func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			reply, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
				MaxTokens: 50, SystemPrompt: "Be brief.", Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Why?"}}},
			})
			if err != nil {
				return nil, nil, err
			}
			return said("the model says: " + reply.Content.(*mcp.TextContent).Text), nil, nil
		})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// rath is the command with its own home.
func rath(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = t.TempDir()
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OPENAI_") && !strings.HasPrefix(v, "ANTHROPIC_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, asRath+"=1", "OPENRATH_HOME="+home, "GORACE=atexit_sleep_ms=0", "RATH_MCP_TOKEN=")
	return cmd
}

// done runs the command to its end.
func done(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := rath(t, home, args...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("rath %q: %v\n%s", args, err, &problems)
	}
	return strings.TrimSpace(string(out))
}

// filled is a home with a run, its session and a note.
func filled(t *testing.T) (home string) {
	t.Helper()
	home = filepath.Join(t.TempDir(), "home")
	done(t, home, "run", "--sandbox", "none", "hello")
	done(t, home, "memory", "remember", "The deploy day is Tuesday")
	return home
}
