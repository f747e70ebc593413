//go:build unix

package mcptool_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/mcptool"
)

// A server may be a program (Command), an endpoint (URL), or, as here, in this program. An
// agent is given its tools like any others.
func Example() {
	type in struct {
		Name string `json:"name"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greet somebody.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
		})

	ctx := context.Background()
	client, err := mcptool.Connect(ctx, mcptool.Server{Name: "greeter", Transport: func(ctx context.Context) (mcp.Transport, error) {
		here, there := mcp.NewInMemoryTransports()
		_, err := server.Connect(ctx, there, nil)
		return here, err
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	for _, t := range client.Tools() {
		fmt.Println(t.Name, t.Class, t.Description)
	}
	calls := tool.Dispatch{Tools: client.Tools()}
	done, err := calls.Run(ctx, session.FromUser("Greet Ada."), []session.Call{{ID: "1", Name: "greeter__greet", Arguments: `{"name":"Ada"}`}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(done[0].Chunk.Text())
	// Output:
	// greeter__greet read_only Greet somebody.
	// Hello, Ada
}
