package mcptool

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// Client is one server with the connection to it, which all calls share. A connection
// that is lost is made anew by the next call; while that fails, calls wait longer and
// longer before they try. It is safe for concurrent use.
type Client struct {
	server  Server
	opts    Options
	secrets llm.Secrets
	keys    llm.Secrets // those of them that no result may show
	mcp     *mcp.Client
	http    *http.Client

	life    context.Context // ends with Close
	stop    context.CancelCauseFunc
	closing sync.Once
	wg      sync.WaitGroup // all that runs on behalf of the client

	turn    chan struct{} // holds a token while somebody looks for a connection
	waits   *backoff.ExponentialBackOff
	notYet  time.Time // no connection is made before; turn guards it and waits
	version string    // that the server speaks; turn guards it

	changed chan struct{} // the server's list of tools is another

	mu      sync.Mutex
	conn    *conn // nil: there is none
	tools   tool.Set
	found   catalog    // that tools are made of
	running []*running // the calls on their way, in the order of their beginning
	begun   int        // calls so far
}

// Connect opens a server and lists its tools. Where a journal knows the list, it is
// taken from there, and the connection is made by the first call that needs it. Close the
// client when nothing uses its tools any more. The error is an [*Error].
func Connect(ctx context.Context, server Server, opts *Options) (*Client, error) {
	if opts == nil {
		opts = &Options{}
	}
	c := &Client{server: server, opts: *opts, secrets: server.secrets(), keys: server.keys(), turn: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	if err := server.check(); err != nil {
		c.server.Name = "(unnamed)"
		return nil, c.fail("connect", nil, err)
	}
	c.server.Name = server.name()
	c.http = c.opts.HTTPClient
	if c.http == nil {
		c.http = llm.NewHTTPClient()
	}
	c.life, c.stop = context.WithCancelCause(context.Background())
	c.waits = backoff.NewExponentialBackOff()
	c.waits.MaxInterval = 30 * time.Second
	c.mcp = c.newMCP()
	if err := c.list(ctx); err != nil {
		c.Close()
		return nil, err
	}
	c.wg.Go(c.follow)
	return c, nil
}

// Name is what the names of the tools begin with.
func (c *Client) Name() string { return c.server.Name }

// Tools returns the server's tools as they are now. Within a durable run take them once:
// the run's record has those that it began with.
func (c *Client) Tools() tool.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.tools)
}

// Problems tells what of the server's tools is left out or changed, and why.
func (c *Client) Problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.found.Problems)
}

// Instructions is what the server says of its use, cleaned and cut; empty where it says
// nothing, and before there is a connection. It is no more to be trusted than the server.
func (c *Client) Instructions() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return ""
	}
	return clean(c.conn.session.InitializeResult().Instructions, descriptionLimit)
}

// Close fails the calls that run, ends the connection, and the server's program with all
// its processes, and waits for them. Closing again does nothing.
func (c *Client) Close() {
	c.closing.Do(func() {
		c.stop(ErrClosed)
		c.turn <- struct{}{} // never given back: no connection is made any more
		if k := c.current(); k != nil {
			k.close()
		}
		c.wg.Wait()
		if c.opts.HTTPClient == nil {
			c.http.CloseIdleConnections()
		}
	})
}

// connection returns the connection, and makes one if there is none that lives. Callers
// come one after the other, so that only one is made.
func (c *Client) connection(ctx context.Context) (*conn, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if k := c.current(); k != nil {
		if c.alive(ctx, k) {
			return k, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.abandon(k)
	}
	select {
	case <-time.After(time.Until(c.notYet)):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.notYet = time.Now().Add(c.waits.NextBackOff())
	k, err := c.dial(ctx, c.version)
	if err != nil {
		return nil, err
	}
	c.version = k.session.InitializeResult().ProtocolVersion
	c.mu.Lock()
	c.conn = k
	c.mu.Unlock()
	c.notice() // the server may be another than the one before
	return k, nil
}

func (c *Client) current() *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn
}

// drop forgets a connection.
func (c *Client) drop(k *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == k {
		c.conn = nil
	}
}

// abandon gives up a connection that is of no use any more.
func (c *Client) abandon(k *conn) {
	c.drop(k)
	k.cut()
	go k.session.Close() // watch waits for it
}

// works notes that the server has done something: the next connection need not wait.
func (c *Client) works() {
	select {
	case c.turn <- struct{}{}:
		c.waits.Reset()
		c.notYet = time.Time{}
		<-c.turn
	default: // somebody is looking for a connection, and will find out
	}
}

// during returns a context that ends with the client, too.
func (c *Client) during(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// outlive returns a context that ends with ctx and with the client, and what is to be
// called when the work is done: from then on it lasts for the grace, whatever becomes of ctx.
func (c *Client) outlive(ctx context.Context) (life context.Context, end func(grace time.Duration)) {
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	closed := context.AfterFunc(c.life, func() { cancel(ErrClosed) })
	given := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return life, func(grace time.Duration) {
		given()
		time.AfterFunc(grace, func() {
			closed()
			cancel(nil)
		})
	}
}

// fail makes an Error of what happened to a connection, nil if there is none.
func (c *Client) fail(op string, k *conn, err error) error {
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	e := &Error{Server: c.server.Name, Op: op}
	if k != nil && k.process != nil {
		err, e.Stderr = k.process.explain(err), c.hide(k.process.stderr.String())
	}
	e.Err = c.secrets.Redact(err)
	return e
}

// hideIn takes the keys out of what a server has given. The other settings stay: that it
// tells of a folder, say, may be its task.
func (c *Client) hideIn(parts []session.Part) {
	for i := range parts {
		p := &parts[i]
		p.Text, p.URL = c.keys.Redact(errors.New(p.Text)).Error(), c.keys.Redact(errors.New(p.URL)).Error()
	}
}

// hide takes the secrets out of a text.
func (c *Client) hide(text string) string { return c.secrets.Redact(errors.New(text)).Error() }
