package mcptool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/tool"
)

// The kinds of failure that a model is told of beside those of package tool.
const (
	KindRefused     = "mcp_refused"     // the server does not do what it is asked, and says why
	KindLost        = "mcp_server_lost" // nobody knows how far the call came
	KindUnreachable = "mcp_unreachable" // the call has not reached the server
)

// codeRejected marks what is no answer of the server's, but the SDK's for a request that
// HTTP has failed.
const codeRejected = -32005

// newTool makes a tool of what a server offers. A remote server cannot touch the
// workspace, so its calls wait for each other only.
func (c *Client) newTool(name string, o offer) *tool.Tool {
	t := &tool.Tool{Name: name, Description: o.Description, Schema: o.Schema, Class: o.Class}
	if c.server.remote() && o.Class != effect.ReadOnly {
		lock := tool.Lock{Resource: "mcp/" + c.server.Name, Write: true}
		t.Locks = func(context.Context, json.RawMessage) ([]tool.Lock, error) { return []tool.Lock{lock}, nil }
	}
	var output *tool.Schema
	if o.Output != nil {
		output, _ = tool.ParseSchema(o.Output) // what cannot be used was told of when it was listed
	}
	t.Run = func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
		res, err := request(ctx, c, o.Name, func(ctx context.Context, k *conn, token string) (*mcp.CallToolResult, error) {
			params := &mcp.CallToolParams{Name: o.Name, Arguments: arguments}
			params.SetProgressToken(token)
			return k.session.CallTool(ctx, params)
		})
		if err != nil {
			return tool.Result{}, err
		}
		out := resultOf(res, output)
		c.hideIn(out.Parts)
		return out, nil
	}
	return t
}

// running is one request on its way.
type running struct {
	ctx    context.Context // what answers the server's questions runs in
	conn   *conn
	token  string
	what   string
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	quiet time.Duration // that the server may be
	last  time.Time     // when its time is up in any case
	asked atomic.Int32  // how often a person was
	held  int           // questions that wait for an answer: meanwhile the time stands still
}

// patienceFactor is how much longer a call may take that makes progress.
const patienceFactor = 10

var errTimeout = errors.New("its time is up")

// request makes one request, and once more if the server has forgotten the session: then
// it has not done anything. The error is a *tool.Failure, or why ctx has ended.
func request[T any](ctx context.Context, c *Client, what string, send func(context.Context, *conn, string) (T, error)) (T, error) {
	var none T
	life, end := c.outlive(ctx)
	grace := time.Duration(0)
	defer func() { end(grace) }()
	for again := false; ; again = true {
		k, err := c.connection(life)
		if err != nil {
			return none, c.unreachable(ctx, what, err)
		}
		r := c.begin(life, k, what)
		out, err := send(r.ctx, k, r.token)
		cause := context.Cause(r.ctx)
		c.finish(r)
		if err == nil {
			k.suspect.Store(false)
			c.works()
			grace = time.Second // the answer's stream may have an end yet that lets the connection be used again
			return out, nil
		}
		k.suspect.Store(true)
		if errors.Is(err, mcp.ErrSessionMissing) && !again {
			c.abandon(k)
			continue
		}
		return none, c.failure(ctx, k, what, err, cause)
	}
}

// begin enters a request among the running ones.
func (c *Client) begin(ctx context.Context, k *conn, what string) *running {
	r := &running{conn: k, what: what, quiet: cmp.Or(c.server.Timeout, 5*time.Minute)}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.ctx = context.WithValue(r.ctx, runningKey{}, r)
	r.last = time.Now().Add(patienceFactor * r.quiet)
	r.timer = time.AfterFunc(r.quiet, func() { r.cancel(errTimeout) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	r.token = "rath-" + strconv.Itoa(c.begun)
	c.running = append(c.running, r)
	return r
}

type runningKey struct{}

func (c *Client) finish(r *running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.timer.Stop()
	c.running = slices.DeleteFunc(c.running, func(other *running) bool { return other == r })
}

// busy reports whether requests run on a connection.
func (c *Client) busy(k *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.running, func(r *running) bool { return r.conn == k })
}

// alive starts the request's time anew, as far as that goes.
func (r *running) alive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == 0 {
		r.timer.Reset(min(r.quiet, time.Until(r.last)))
	}
}

// hold stops the request's time until the function that it returns is called.
func (r *running) hold() (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held++
	r.timer.Stop()
	begin := time.Now()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.held--
		r.last = r.last.Add(time.Since(begin))
		if r.held == 0 {
			r.timer.Reset(min(r.quiet, time.Until(r.last)))
		}
	}
}

// unreachable tells of a server that there is no connection to.
func (c *Client) unreachable(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &tool.Failure{Kind: KindUnreachable, Message: what + " was not called: there is no connection to its server", Detail: c.hide(err.Error())}
}

// failure tells of a request that has failed, and why its time ended, if it did.
func (c *Client) failure(ctx context.Context, k *conn, what string, err, cause error) error {
	var refused *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case cause == errTimeout:
		return &tool.Failure{Kind: tool.KindTimeout, Message: what + " took too long and was cancelled; it may or may not have taken effect", Detail: c.tail(k)}
	case cause == ErrClosed:
		return &tool.Failure{Kind: KindLost, Message: what + " was cancelled because the connection is closed; it may or may not have taken effect"}
	case errors.As(err, &refused) && refused.Code != codeRejected:
		return &tool.Failure{Kind: KindRefused, Message: "the server refused " + what, Detail: clean(c.hide(refused.Message), noteLimit)}
	}
	if k.process != nil {
		select { // for the error to say how it ended
		case <-k.process.done:
		case <-time.After(2 * lingering):
		}
	}
	return &tool.Failure{
		Kind:    KindLost,
		Message: "the connection to the server was lost while " + what + " ran; it may or may not have taken effect",
		Detail:  clean(c.fail("call", k, err).Error(), stderrLimit),
	}
}

// tail is what the server's program wrote last.
func (c *Client) tail(k *conn) string {
	if k.process == nil {
		return ""
	}
	return c.hide(k.process.stderr.String())
}

// called returns what a notification or question belongs to: the request with that token,
// or the youngest one. nil: there is none.
func (c *Client) called(ctx context.Context, token any) *running {
	if r, ok := ctx.Value(runningKey{}).(*running); ok {
		return r
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.running) - 1; i >= 0; i-- {
		if r := c.running[i]; token == nil || token == r.token {
			return r
		}
	}
	return nil
}

// progressed passes on what the server says of a call's progress.
func (c *Client) progressed(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	p := req.Params
	r := c.called(context.Background(), fmt.Sprint(p.ProgressToken))
	if r == nil {
		return // it has ended, or never was
	}
	r.alive()
	if c.opts.Progress != nil {
		c.opts.Progress(r.ctx, Progress{c.server.Name, r.what, tool.CallOf(r.ctx), p.Progress, p.Total, clean(p.Message, noteLimit)})
	}
}
