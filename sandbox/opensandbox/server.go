package opensandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// callTime bounds a call that is answered at once, transferTime one that moves a file.
const (
	callTime     = 30 * time.Second
	transferTime = 10 * time.Minute
)

// server is where requests go, with the headers that it wants.
type server struct {
	base    string // without a slash at its end
	headers map[string]string
	http    *http.Client
}

// request is one call. Its body can be sent again.
type request struct {
	method string
	path   string
	query  url.Values
	body   []byte
	kind   string // of the body; empty: JSON
	header map[string]string
}

func (r request) String() string { return r.method + " " + r.path }

// call does what is answered at once. in and out may be nil.
func (s *server) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	r := request{method: method, path: path, query: query}
	if in != nil {
		var err error
		if r.body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer in %v", callTime))
	defer cancel()
	resp, err := s.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return failure(ctx, r, err)
	}
	if out == nil || len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s: the answer is not what it should be: %w", r, err)
	}
	return nil
}

// send returns an answer that is no error. It tries again when a connection fails, but
// only where nothing can have been done twice.
func (s *server) send(ctx context.Context, r request) (*http.Response, error) {
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		resp, err := s.try(ctx, r)
		if err == nil || ctx.Err() != nil || !repeatable(r, err) || wait > time.Second {
			return resp, err
		}
		if sleep(ctx, wait) != nil {
			return nil, err
		}
	}
}

func (s *server) try(ctx context.Context, r request) (*http.Response, error) {
	req, err := s.prepare(ctx, r, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	return s.do(req, r)
}

func (s *server) prepare(ctx context.Context, r request, body io.Reader) (*http.Request, error) {
	address := s.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	req.Header.Set("User-Agent", "rath")
	req.Header.Set("X-Request-ID", uuid.NewString())
	if kind := r.kind; kind != "" {
		req.Header.Set("Content-Type", kind)
	} else if len(r.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, headers := range []map[string]string{s.headers, r.header} {
		for name, value := range headers {
			req.Header.Set(name, value)
		}
	}
	return req, nil
}

func (s *server) do(req *http.Request, r request) (*http.Response, error) {
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, failure(req.Context(), r, err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
	return nil, apiError(r.String(), resp, body)
}

// failure says that there was no answer, without the URL, which may have a signature.
func failure(ctx context.Context, r request, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &connectionError{r, err}
}

// connectionError is that a server gave no answer.
type connectionError struct {
	request request
	err     error
}

func (e *connectionError) Error() string { return e.request.String() + ": " + e.err.Error() }
func (e *connectionError) Unwrap() error { return e.err }

// Hint says what to look after.
func (e *connectionError) Hint() string {
	if errors.Is(e.err, context.Canceled) {
		return ""
	}
	return "check that the server runs and can be reached from here; if its sandboxes cannot, Options.UseServerProxy has it forward requests"
}

// repeatable reports whether a request that failed can be sent again: the server was not
// reached, or the request changes nothing.
func repeatable(r request, err error) bool {
	var c *connectionError
	if !errors.As(err, &c) {
		return false
	}
	var op *net.OpError
	return r.method == http.MethodGet || errors.As(err, &op) && op.Op == "dial"
}

// sleep waits, or returns why it need not.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// newHTTP makes a client with connections of its own. It follows no redirect: keys stay
// with their server.
func newHTTP(given *http.Client) *http.Client {
	c := &http.Client{}
	if given != nil {
		*c = *given
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}
