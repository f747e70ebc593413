//go:build unix

package mcptool

//lint:file-ignore SA1019 clients must answer servers of before 2026

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// cancelled counts the calls that the server was told to give up.
var cancelled atomic.Int32

// oldConn drops what a server of before 2026 would not know, and never answers.
type oldConn struct{ mcp.Connection }

func (o *oldConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := o.Connection.Read(ctx)
		if req, ok := msg.(*jsonrpc.Request); !ok || req.Method != "server/discover" {
			return msg, err
		}
	}
}

// addAskers adds tools that ask back while they run, and one that tells of its progress.
func addAskers(s *mcp.Server) {
	asking(s, "elicit", &mcp.ElicitParams{Message: "Which \x1b[31mcolour?", RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{"colour": map[string]any{"type": "string"}}, "required": []string{"colour"},
	}})
	asking(s, "sample", &mcp.CreateMessageParams{
		MaxTokens: 50, SystemPrompt: "Be short.", Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Why?"}}},
	})
	raw(s, "progress", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			time.Sleep(50 * time.Millisecond)
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: "step\x07",
			})
		}
		return said("done")
	})
}

func said(format string, args ...any) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil
}

// asking adds a tool that asks a question: as its result where the protocol wants that,
// by a request of its own otherwise.
func asking(s *mcp.Server, name string, question mcp.InputRequest) {
	raw(s, name, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, ok := req.Params.InputResponses["q"]; ok {
			return heard(answer)
		}
		if req.Session.InitializeParams().ProtocolVersion > legacy {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": question}}, nil
		}
		answer, err := ask(ctx, req.Session, question)
		if err != nil {
			return nil, err
		}
		return heard(answer)
	})
}

func ask(ctx context.Context, s *mcp.ServerSession, question mcp.InputRequest) (mcp.InputResponse, error) {
	if q, ok := question.(*mcp.ElicitParams); ok {
		return s.Elicit(ctx, q)
	}
	return s.CreateMessage(ctx, question.(*mcp.CreateMessageParams))
}

func heard(answer mcp.InputResponse) (*mcp.CallToolResult, error) {
	switch a := answer.(type) {
	case *mcp.ElicitResult:
		return said("%s %v", a.Action, a.Content["colour"])
	case *mcp.CreateMessageResult:
		return said("%s says %s", a.Model, a.Content.(*mcp.TextContent).Text)
	case *mcp.CreateMessageWithToolsResult:
		return said("%s says %s", a.Model, a.Content[0].(*mcp.TextContent).Text)
	}
	return said("a %T", answer)
}
