package mcpserver

//lint:file-ignore SA1019 the suite looks at what servers of before 2026 may do, too

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/internal/mcpserver/npmtest"
)

// The official suite looks at how the server keeps to the revisions of the protocol. It
// calls tools of its own, which are added to those of the server.
func TestConformance(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(fake{}, &Options{Run: true, Write: true})
	addContents(s)
	addTelling(s)
	addReadable(s)
	addStateless(s)
	h, err := Handler(s, l.Addr(), Access{})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			npmtest.Conform(t, "server", revision, "testdata/conformance-"+revision+".yml", nil, "--url", "http://"+l.Addr().String()+"/mcp")
		})
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// A red point, and a silence.
var (
	point   = must(base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="))
	silence = must(base64.StdEncoding.DecodeString("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="))
)

func saying(format string, args ...any) mcp.Content {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

func embedded(uri, mime, text string) mcp.Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mime, Text: text}}
}

// addContents adds a tool for every kind of content.
func addContents(s *mcp.Server) {
	image := &mcp.ImageContent{MIMEType: "image/png", Data: point}
	for name, contents := range map[string][]mcp.Content{
		"test_simple_text":            {saying("This is a simple text response for testing.")},
		"test_image_content":          {image},
		"test_audio_content":          {&mcp.AudioContent{MIMEType: "audio/wav", Data: silence}},
		"test_embedded_resource":      {embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {saying("Multiple content types test:"), image, embedded("test://mixed-content-resource", "application/json", `{"test":"data"}`)},
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Gives content."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: contents}, nil, nil
		})
	}
	mcp.AddTool(s, &mcp.Tool{Name: "test_error_handling", Description: "Fails."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("This tool intentionally returns an error for testing") //nolint:staticcheck // the suite's words
	})
}

// addTelling adds tools that say something, or ask, before they end.
func addTelling(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "test_tool_with_logging", Description: "Logs."}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: fmt.Sprint("step ", i)}); err != nil {
				return nil, nil, err
			}
			time.Sleep(50 * time.Millisecond)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{saying("logged")}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "test_tool_with_progress", Description: "Tells how far it is."}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		tell := progressOf(ctx, req) // that of the server's own tools
		for i := range 3 {
			tell(fmt.Sprint("step ", i))
			time.Sleep(50 * time.Millisecond)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{saying("%v", req.Params.GetProgressToken())}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "test_sampling", Description: "Asks a model."}, func(ctx context.Context, req *mcp.CallToolRequest, in struct {
		Prompt string `json:"prompt"`
	}) (*mcp.CallToolResult, any, error) {
		reply, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: "user", Content: saying("%s", in.Prompt)}}})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{saying("LLM response: "), reply.Content}}, nil, nil
	})
	addForm(s, "test_elicitation", `{"type":"object","properties":{"username":{"type":"string"},"email":{"type":"string"}},"required":["username","email"]}`)
	addForm(s, "test_elicitation_sep1034_defaults", `{"type":"object","properties":{
		"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`)
	addForm(s, "test_elicitation_sep1330_enums", `{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["One","Two","Three"]},
		"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","anyOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]}}}}`)
}

// addForm adds a tool that has a person fill in a form.
func addForm(s *mcp.Server, name, schema string) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Asks a person."}, func(ctx context.Context, req *mcp.CallToolRequest, in struct {
		Message string `json:"message,omitempty"`
	}) (*mcp.CallToolResult, any, error) {
		answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Please: " + in.Message, RequestedSchema: json.RawMessage(schema)})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{saying("action=%s, content=%v", answer.Action, answer.Content)}}, nil, nil
	})
}

// addReadable adds resources and prompts.
func addReadable(s *mcp.Server) {
	read := func(mime, text string, blob []byte) mcp.ResourceHandler {
		return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: mime, Text: text, Blob: blob}}}, nil
		}
	}
	s.AddResource(&mcp.Resource{URI: "test://static-text", Name: "text", MIMEType: "text/plain"}, read("text/plain", "This is the content of the static text resource.", nil))
	s.AddResource(&mcp.Resource{URI: "test://static-binary", Name: "binary", MIMEType: "image/png"}, read("image/png", "", point))
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "application/json"},
		read("application/json", `{"id":"123","templateTest":true,"data":"Data for ID: 123"}`, nil))
	prompt := func(name string, fill func(arguments map[string]string) mcp.Content, arguments ...*mcp.PromptArgument) {
		s.AddPrompt(&mcp.Prompt{Name: name, Description: "A prompt.", Arguments: arguments}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: fill(req.Params.Arguments)}}}, nil
		})
	}
	prompt("test_simple_prompt", func(map[string]string) mcp.Content { return saying("This is a simple prompt for testing.") })
	prompt("test_prompt_with_arguments", func(a map[string]string) mcp.Content { return saying("arg1='%s', arg2='%s'", a["arg1"], a["arg2"]) },
		&mcp.PromptArgument{Name: "arg1", Description: "one", Required: true}, &mcp.PromptArgument{Name: "arg2", Description: "two", Required: true})
	prompt("test_prompt_with_embedded_resource", func(a map[string]string) mcp.Content {
		return embedded(a["resourceUri"], "text/plain", "Embedded resource content.")
	},
		&mcp.PromptArgument{Name: "resourceUri", Description: "a URI", Required: true})
	prompt("test_prompt_with_image", func(map[string]string) mcp.Content { return &mcp.ImageContent{MIMEType: "image/png", Data: point} })
}

// addStateless adds what the suite calls to see how requests without a session are served.
func addStateless(s *mcp.Server) {
	add := func(name string, do func(ctx context.Context, req *mcp.CallToolRequest) error) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Shows how requests are served."}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{saying("done")}}, nil, do(ctx, req)
		})
	}
	add("test_missing_capability", func(_ context.Context, req *mcp.CallToolRequest) error {
		if can := req.ClientCapabilities(); can != nil && can.Sampling != nil {
			return nil
		}
		return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "it wants sampling", Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
	})
	add("test_streaming_elicitation", func(ctx context.Context, req *mcp.CallToolRequest) error {
		progressOf(ctx, req)("half")
		return nil
	})
	add("test_logging_tool", func(ctx context.Context, req *mcp.CallToolRequest) error {
		return req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "logged"})
	})
	add("test_trigger_tool_change", func(context.Context, *mcp.CallToolRequest) error {
		add("changed", func(context.Context, *mcp.CallToolRequest) error { return nil })
		return nil
	})
	add("test_trigger_prompt_change", func(context.Context, *mcp.CallToolRequest) error {
		s.AddPrompt(&mcp.Prompt{Name: "changed", Description: "A prompt."}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
		return nil
	})
}
