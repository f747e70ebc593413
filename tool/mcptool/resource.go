package mcptool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// Resource is something that a server lets be read.
type Resource struct {
	URI         string `json:"uri"` // of a template: with the names of what to put in, as {name}
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	MIME        string `json:"mime,omitempty"`
	Template    bool   `json:"template,omitempty"`
}

// Prompt is a text that a server has ready for a model.
type Prompt struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Arguments   []Argument `json:"arguments,omitempty"`
}

// Argument is what a prompt wants to be told.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Resources lists what the server lets be read, templates last, without those whose URI
// has characters that do not print. This and the other
// methods below are effects: a journal answers for them where it can.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	return do(ctx, c, "list resources", nil, c.resources)
}

// ReadResource reads a resource.
func (c *Client) ReadResource(ctx context.Context, uri string) ([]session.Part, error) {
	return do(ctx, c, "read resource", uri, func(ctx context.Context) ([]session.Part, error) { return c.readResource(ctx, uri) })
}

// Prompts lists the server's prompts.
func (c *Client) Prompts(ctx context.Context) ([]Prompt, error) {
	return do(ctx, c, "list prompts", nil, c.prompts)
}

// GetPrompt returns a prompt's messages: chunks of the user and of the assistant.
func (c *Client) GetPrompt(ctx context.Context, name string, arguments map[string]string) ([]session.Chunk, error) {
	return do(ctx, c, "get prompt", []any{name, arguments}, func(ctx context.Context) ([]session.Chunk, error) {
		return c.prompt(ctx, name, arguments)
	})
}

// do makes an effect of a request.
func do[T any](ctx context.Context, c *Client, op string, input any, fn func(context.Context) (T, error)) (T, error) {
	out, err := effect.Do(ctx, effect.Call{Kind: "mcp", Name: c.server.Name + ": " + op, Input: input, Class: effect.ReadOnly}, fn)
	if err != nil && ctx.Err() == nil {
		err = c.fail(op, nil, err)
	}
	return out, err
}

func (c *Client) resources(ctx context.Context) ([]Resource, error) {
	return request(ctx, c, "the list of resources", func(ctx context.Context, k *conn, _ string) (out []Resource, err error) {
		if can := k.session.InitializeResult().Capabilities; can == nil || can.Resources == nil {
			return nil, nil
		}
		add := func(uri, name, description, mime string, template bool) int {
			r := Resource{uri, clean(name, 200), clean(description, noteLimit), clean(mime, 100), template}
			if uri == clean(uri, noteLimit) {
				out = append(out, r)
			}
			return len(r.URI) + len(r.Name) + len(r.Description) + len(r.MIME)
		}
		_, err = collect(k.session.Resources(ctx, nil), func(r *mcp.Resource) int {
			return add(r.URI, r.Name, r.Description, r.MIMEType, false)
		})
		if err != nil {
			return nil, err
		}
		_, err = collect(k.session.ResourceTemplates(ctx, nil), func(r *mcp.ResourceTemplate) int {
			return add(r.URITemplate, r.Name, r.Description, r.MIMEType, true)
		})
		if refused(err) {
			return out, nil // it has none
		}
		return out, err
	})
}

func (c *Client) readResource(ctx context.Context, uri string) ([]session.Part, error) {
	return request(ctx, c, "the resource "+clean(uri, 200), func(ctx context.Context, k *conn, token string) ([]session.Part, error) {
		params := &mcp.ReadResourceParams{URI: uri}
		params.SetProgressToken(token)
		res, err := k.session.ReadResource(ctx, params)
		if err != nil {
			return nil, err
		}
		var contents []mcp.Content
		for _, r := range res.Contents {
			contents = append(contents, &mcp.EmbeddedResource{Resource: r})
		}
		out := parts(contents)
		c.hideIn(out)
		return out, nil
	})
}

func (c *Client) prompts(ctx context.Context) ([]Prompt, error) {
	return request(ctx, c, "the list of prompts", func(ctx context.Context, k *conn, _ string) (out []Prompt, err error) {
		if can := k.session.InitializeResult().Capabilities; can == nil || can.Prompts == nil {
			return nil, nil
		}
		_, err = collect(k.session.Prompts(ctx, nil), func(p *mcp.Prompt) int {
			prompt, size := promptOf(p)
			if p.Name == clean(p.Name, 256) {
				out = append(out, prompt)
			}
			return size
		})
		return out, err
	})
}

// promptOf cleans what is said of a prompt. It also returns how many bytes are kept.
func promptOf(p *mcp.Prompt) (Prompt, int) {
	prompt := Prompt{Name: p.Name, Description: clean(p.Description, noteLimit)}
	size := len(p.Name) + len(prompt.Description)
	for _, a := range p.Arguments[:min(len(p.Arguments), partLimit)] {
		if a != nil && a.Name == clean(a.Name, 256) {
			argument := Argument{a.Name, clean(a.Description, noteLimit), a.Required}
			prompt.Arguments = append(prompt.Arguments, argument)
			size += len(argument.Name) + len(argument.Description)
		}
	}
	return prompt, size
}

func (c *Client) prompt(ctx context.Context, name string, arguments map[string]string) ([]session.Chunk, error) {
	return request(ctx, c, "the prompt "+clean(name, 200), func(ctx context.Context, k *conn, token string) (out []session.Chunk, err error) {
		params := &mcp.GetPromptParams{Name: name, Arguments: arguments}
		params.SetProgressToken(token)
		res, err := k.session.GetPrompt(ctx, params)
		if err != nil {
			return nil, err
		}
		for _, m := range res.Messages[:min(len(res.Messages), partLimit)] {
			if m != nil {
				out = append(out, c.chunkOf(m.Role, m.Content))
			}
		}
		return out, nil
	})
}

// chunkOf makes a chunk of a message.
func (c *Client) chunkOf(role mcp.Role, content ...mcp.Content) session.Chunk {
	out := parts(content)
	c.hideIn(out)
	if role == "assistant" {
		return session.Assistant(out)
	}
	return session.User(out...)
}

// readers are the tools by which a model reads resources and prompts itself.
func (c *Client) readers(found catalog) (out tool.Set) {
	if c.opts.Resources && found.Resources {
		out = append(out,
			tool.New("list_resources", "List what the server "+c.server.Name+" lets be read.", c.listResources),
			tool.New("read_resource", "Read a resource of the server "+c.server.Name+".", func(ctx context.Context, in struct {
				URI string `json:"uri" jsonschema:"as the list or a link has it; the {names} of a template replaced"`
			}) ([]session.Part, error) {
				return c.readResource(ctx, in.URI)
			}))
	}
	if c.opts.Prompts && found.Prompts {
		out = append(out,
			tool.New("list_prompts", "List the prompts that the server "+c.server.Name+" has ready.", func(ctx context.Context, _ struct{}) ([]Prompt, error) {
				return c.prompts(ctx)
			}),
			tool.New("get_prompt", "Get a prompt of the server "+c.server.Name+".", c.getPrompt))
	}
	if !c.server.IgnoreHints { // that these only read is the server's word, too
		for _, t := range out {
			t.Class = effect.ReadOnly
		}
	}
	return out
}

type listIn struct {
	Match string `json:"match,omitempty" jsonschema:"a text that the URI or the name holds"`
}

type listOut struct {
	Resources []Resource `json:"resources"`
	Omitted   int        `json:"omitted,omitempty"` // more than a model should see at once
}

func (c *Client) listResources(ctx context.Context, in listIn) (listOut, error) {
	all, err := c.resources(ctx)
	all = slices.DeleteFunc(all, func(r Resource) bool {
		return !strings.Contains(strings.ToLower(r.URI+"\n"+r.Name), strings.ToLower(in.Match))
	})
	shown := all[:min(len(all), partLimit)]
	return listOut{append([]Resource{}, shown...), len(all) - len(shown)}, err
}

type promptIn struct {
	Name      string            `json:"name" jsonschema:"of the prompt, as the list has it"`
	Arguments map[string]string `json:"arguments,omitempty" jsonschema:"what it wants to be told"`
}

func (c *Client) getPrompt(ctx context.Context, in promptIn) (out []session.Part, err error) {
	chunks, err := c.prompt(ctx, in.Name, in.Arguments)
	for _, chunk := range chunks {
		out = append(out, note("%s", fmt.Sprint(chunk.Kind())))
		for p := range chunk.Parts() {
			out = append(out, p)
		}
	}
	return out, err
}
