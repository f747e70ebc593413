package mcptool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/sandbox"
)

// conn is one connection to a server.
type conn struct {
	session *mcp.ClientSession
	process *process      // nil: the server is no program of ours
	cut     func()        // ends the connection at once, whatever it waits for
	gone    chan struct{} // closed when it has ended, the program included
	suspect atomic.Bool   // something has failed: see whether it lives before the next call
}

// pingTimeout is how long a server may take to show that it lives after a call has failed.
const pingTimeout = 3 * time.Second

// resumptions are how often a stream that breaks off is taken up again, which takes some
// seconds. After that its call is lost, and the next makes a new connection.
const resumptions = 2

// legacy is the newest version of the protocol that begins with initialize.
const legacy = "2025-11-25"

// dial makes a connection. The newest protocol begins with a question that some older
// servers leave unanswered, so half of the time is for what they know. version is what
// the server is known to speak, empty the first time.
func (c *Client) dial(ctx context.Context, version string) (*conn, error) {
	limit := c.opts.connectTimeout()
	if version != "" || c.server.URL != "" { // HTTP refuses what it does not know
		return c.dialAs(ctx, version, limit)
	}
	conn, err := c.dialAs(ctx, "", limit/2)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return c.dialAs(ctx, legacy, limit/2)
	}
	return conn, err
}

func (c *Client) dialAs(ctx context.Context, version string, limit time.Duration) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	k := &conn{gone: make(chan struct{})}
	transport, err := c.transport(ctx, k)
	if err != nil {
		return nil, c.fail("connect", nil, err)
	}
	stop := context.AfterFunc(ctx, k.cut) // the SDK does not always heed ctx
	k.session, err = c.mcp.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("the server does not answer: %w", context.Cause(ctx))
		}
		k.cut()
		if k.session != nil {
			_ = k.session.Close()
		}
		k.end()
		return nil, c.fail("connect", k, err)
	}
	c.wg.Go(func() { c.watch(k) })
	return k, nil
}

// transport opens the way to the server, and gives the connection what ends it.
func (c *Client) transport(ctx context.Context, k *conn) (mcp.Transport, error) {
	switch {
	case c.server.Transport != nil:
		t, err := c.server.Transport(ctx)
		if err != nil {
			return nil, err
		}
		cuttable := &severable{Transport: t}
		k.cut = cuttable.cut
		return cuttable, nil
	case c.server.URL != "":
		life, cut := context.WithCancel(context.Background())
		k.cut = cut
		return &mcp.StreamableClientTransport{
			Endpoint: c.server.URL, HTTPClient: c.httpClient(life), OAuthHandler: c.opts.OAuth, MaxEventSize: messageLimit, MaxRetries: resumptions,
		}, nil
	}
	run := beside(&c.server)
	if sb := c.opts.Sandbox; sb != nil {
		if sb.Placement().Backend == "opensandbox" {
			return nil, fmt.Errorf("%w: it hands over a program's input only as a whole", sandbox.ErrUnsupported)
		}
		run = within(sb, &c.server)
	}
	p, err := launch(run)
	if err != nil {
		return nil, err
	}
	k.process, k.cut = p, p.cut
	return p.transport(), nil
}

var errEnded = errors.New("the server has ended it")

// watch waits for the connection's end, and tidies up after it.
func (c *Client) watch(k *conn) {
	err := cmp.Or(k.session.Wait(), errEnded)
	_ = k.session.Close() // which ends what the SDK began beside it
	k.end()
	c.drop(k)
	if c.life.Err() == nil {
		c.opts.log().Warn("the connection to an mcp server has ended", "server", c.server.Name, "error", c.fail("wait", k, err))
	}
}

// end ends what a connection is made of, after the session.
func (k *conn) end() {
	if k.process != nil {
		k.process.end()
	}
	k.cut()
	close(k.gone)
}

// close ends the connection as the protocol wants it, as long as the server goes along.
func (k *conn) close() {
	timer := time.AfterFunc(patience, k.cut)
	_ = k.session.Close() // what is left is cut
	timer.Stop()
	<-k.gone
}

// alive reports whether a connection can be used. After a failure the server must show it:
// what has hung or forgotten the session would fail every call from then on. One that is
// at work may not find the time.
func (c *Client) alive(ctx context.Context, k *conn) bool {
	select {
	case <-k.gone:
		return false
	default:
	}
	if !k.suspect.Load() {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := k.session.Ping(ctx, nil)
	if err == nil || refused(err) {
		k.suspect.Store(false)
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) && c.busy(k)
}

// severable is a transport of somebody else's whose connection can be closed at any time.
type severable struct {
	mcp.Transport
	conn atomic.Value // of mcp.Connection
}

func (s *severable) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := s.Transport.Connect(ctx)
	if err == nil {
		s.conn.Store(&conn)
	}
	return conn, err
}

func (s *severable) cut() {
	if conn, ok := s.conn.Load().(*mcp.Connection); ok {
		_ = (*conn).Close()
	}
}
