package mcptool

//lint:file-ignore SA1019 servers of before 2026 may ask for samples as long as there are any

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

func (c *Client) offerSampling(o *mcp.ClientOptions) { o.CreateMessageHandler = c.sample }

func (c *Client) sample(ctx context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	asked := c.requestOf(req.Params)
	var reply llm.Reply
	err := c.ask(ctx, func(ctx context.Context, _ *running) (err error) {
		reply, err = c.opts.Sample(ctx, asked)
		return err
	})
	if err != nil {
		return nil, err
	}
	stop := "endTurn"
	if reply.Stop == llm.StopLength {
		stop = "maxTokens"
	}
	return &mcp.CreateMessageResult{
		Content: &mcp.TextContent{Text: reply.Chunk.Text()}, Model: reply.Model, Role: "assistant", StopReason: stop,
	}, nil
}

// requestOf makes a request to a model of what a server wants it to be asked.
func (c *Client) requestOf(p *mcp.CreateMessageParams) *llm.Request {
	req := &llm.Request{Params: llm.Params{MaxTokens: int(p.MaxTokens), Stop: p.StopSequences}}
	if p.Temperature != 0 {
		req.Params.Temperature = &p.Temperature
	}
	if p.SystemPrompt != "" {
		req.Prompt = req.Prompt.Append(session.System(session.Text(p.SystemPrompt)))
	}
	for _, m := range p.Messages[:min(len(p.Messages), partLimit)] {
		if m != nil {
			req.Messages = req.Messages.Append(c.chunkOf(m.Role, m.Content))
		}
	}
	return req
}
