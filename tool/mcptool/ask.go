package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Elicitation is what a server asks a person for while a tool runs: to fill in a form, or
// to visit a page. Nothing of it is to be trusted; a form must not ask for secrets.
type Elicitation struct {
	Server  string          `json:"server"`
	Tool    string          `json:"tool"` // that runs
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema,omitempty"` // of a form: an object of texts, numbers, truth values and lists of texts
	URL     string          `json:"url,omitempty"`    // of the page; shown to the person, never opened unasked
}

// Answer is a person's. The zero Answer is that there is none.
type Answer struct {
	Action  Action
	Content map[string]any // of a form that is accepted: what its schema asks for
}

// Action is what a person did about an [Elicitation].
type Action string

// The actions. The zero value is taken for Cancel.
const (
	Accept  Action = "accept"
	Decline Action = "decline" // the person does not want to
	Cancel  Action = "cancel"  // the person did not decide
)

// newMCP makes the SDK's client. What the server may ask for is what the options allow.
func (c *Client) newMCP() *mcp.Client {
	o := &mcp.ClientOptions{
		Logger:                      c.opts.log(),
		Capabilities:                &mcp.ClientCapabilities{}, // no roots: they are deprecated
		ProgressNotificationHandler: c.progressed,
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { c.notice() },
	}
	if c.opts.Elicit != nil {
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
		o.ElicitationHandler = c.elicit
	}
	if c.opts.Sample != nil {
		c.offerSampling(o)
	}
	return mcp.NewClient(&mcp.Implementation{Name: "rath", Version: "1"}, o)
}

var errNobodyAsked = errors.New("no tool runs that it could be for")

// ask runs what answers a question of the server's in the context of the request that it
// belongs to. Servers of the older protocols do not say which that is: of several it is
// taken for the youngest.
func (c *Client) ask(ctx context.Context, answer func(context.Context, *running) error) error {
	r := c.called(ctx, nil)
	if r == nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: errNobodyAsked.Error()}
	}
	defer r.hold()()
	of, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	if err := answer(of, r); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: c.hide(err.Error())}
	}
	return nil
}

// elicitLimit is how often a server may ask a person while a call runs.
const elicitLimit = 32

func (c *Client) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	e := Elicitation{Server: c.server.Name, Message: clean(req.Params.Message, noteLimit), URL: clean(req.Params.URL, noteLimit)}
	if s := req.Params.RequestedSchema; s != nil {
		var err error
		if e.Schema, err = schemaOf(s); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
	}
	var a Answer
	err := c.ask(ctx, func(ctx context.Context, r *running) (err error) {
		if r.asked.Add(1) > elicitLimit {
			return fmt.Errorf("a person was asked %d times for this call, which is all that a server may", elicitLimit)
		}
		e.Tool = r.what
		a, err = c.opts.Elicit(ctx, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	switch a.Action {
	case Accept:
		return &mcp.ElicitResult{Action: string(Accept), Content: a.Content}, nil
	case Decline:
		return &mcp.ElicitResult{Action: string(Decline)}, nil
	}
	return &mcp.ElicitResult{Action: string(Cancel)}, nil
}

// refused reports whether a server knows no such request.
func refused(err error) bool {
	var answer *jsonrpc.Error
	return errors.As(err, &answer) && answer.Code == jsonrpc.CodeMethodNotFound
}
