package mcptool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/openrath-go/rath/llm"
)

// httpClient makes the client of one connection, all of whose requests end with life. It
// follows no redirect to another server, so that the headers stay with theirs.
func (c *Client) httpClient(life context.Context) *http.Client {
	client := llm.Guard(c.http)
	check := client.CheckRedirect
	client.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		err := check(to, via)
		if errors.As(err, new(*llm.Error)) { // which speaks of models
			return fmt.Errorf("the server redirects to %s, which is not followed: give the address itself", llm.SafeURL(to.URL))
		}
		return err
	}
	client.Transport = &lane{next: client.Transport, life: life, server: &c.server}
	return client
}

// lane is the way of one connection's requests. The SDK reads answers without a bound,
// and a body that breaks off ends its whole connection: so they are read here.
type lane struct {
	next   http.RoundTripper
	life   context.Context
	server *Server
}

var errTooLarge = fmt.Errorf("the server sent more than %d bytes at once", messageLimit)

func (l *lane) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(l.life, func() { cancel(ErrClosed) })
	release := func() {
		stop()
		cancel(nil)
	}
	res, err := l.send(ctx, cancel, l.prepare(req, ctx))
	if err != nil {
		release()
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/event-stream" {
		res.Body = &stream{res.Body, release}
		return res, nil
	}
	defer release()
	if err := buffer(res); err != nil {
		return nil, err
	}
	return res, nil
}

func (l *lane) prepare(req *http.Request, ctx context.Context) *http.Request {
	req = req.Clone(ctx)
	for name, values := range l.server.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if l.server.Bearer != "" && req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+l.server.Bearer)
	}
	return req
}

// listenTimeout is how long a server may take to begin a stream of its own messages.
const listenTimeout = 3 * time.Second

var errNoStream = errors.New("the server does not begin its stream")

// send has a server that does not begin its own stream go without, where the SDK would
// wait for it before it makes any call.
func (l *lane) send(ctx context.Context, cancel context.CancelCauseFunc, req *http.Request) (*http.Response, error) {
	listens := req.Method == http.MethodGet
	if listens || req.Header.Get("Mcp-Method") == "subscriptions/listen" {
		timer := time.AfterFunc(listenTimeout, func() { cancel(errNoStream) })
		defer timer.Stop()
	}
	res, err := l.next.RoundTrip(req)
	if err != nil && listens && context.Cause(ctx) == errNoStream {
		return &http.Response{StatusCode: http.StatusMethodNotAllowed, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	}
	return res, err
}

// buffer reads a whole body.
func buffer(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, messageLimit+1))
	res.Body.Close()
	if err == nil && len(body) > messageLimit {
		err = errTooLarge
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return err
}

// stream is a body whose request ends when it is closed.
type stream struct {
	io.ReadCloser
	release func()
}

func (s *stream) Close() error {
	defer s.release()
	return s.ReadCloser.Close()
}
