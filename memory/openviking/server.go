package openviking

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/openrath-go/rath/memory/driver"
)

// What is read of an answer at most; of an error, the beginning says what it is.
const (
	maxAnswer = 64 << 20
	maxError  = 64 << 10
)

// request is one call. Its body can be sent again.
type request struct {
	method string
	path   string
	query  url.Values
	body   []byte
	kind   string // of the body; empty: JSON
	safe   bool   // a POST that changes nothing
	long   bool   // the server takes its time
}

func (r request) String() string { return r.method + " " + r.path }

// answer is the envelope that all answers come in.
type answer struct {
	Status string         `json:"status"`
	Result jsontext.Value `json:"result"`
	Error  *fault         `json:"error"`
}

func get(path string, query url.Values) request {
	return request{method: http.MethodGet, path: path, query: query, safe: true}
}

func post(path string, in any) (request, error) {
	r := request{method: http.MethodPost, path: path}
	var err error
	if r.body, err = json.Marshal(in, json.Deterministic(true)); err != nil {
		err = fmt.Errorf("%s: %w: %w", r, driver.ErrInvalid, err)
	}
	return r, err
}

// call sends a request and reads the result of the envelope into out, which may be nil.
func (c *Client) call(ctx context.Context, r request, out any) error {
	data, err := c.exchange(ctx, r)
	if err != nil {
		return err
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil || a.Status != "ok" {
		return &APIError{Request: r.String(), Status: http.StatusOK, Message: "the answer is not OpenViking's"}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(a.Result, out); err != nil {
		return fmt.Errorf("%s: the result is not what it should be: %w", r, err)
	}
	return nil
}

// exchange sends a request and returns the answer, within the time it has.
func (c *Client) exchange(ctx context.Context, r request) ([]byte, error) {
	limit := c.opts.Timeout
	if r.long {
		limit = c.opts.LongTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer in %v: %w", limit, context.DeadlineExceeded))
	defer cancel()
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		data, pause, err := c.try(ctx, r)
		if err == nil || ctx.Err() != nil || wait > time.Second || !repeatable(r, err) {
			return data, err
		}
		if sleep(ctx, max(wait, min(pause, 5*time.Second))) != nil {
			return nil, err
		}
	}
}

// try sends a request once. The pause is what the server asks for before the next attempt.
func (c *Client) try(ctx context.Context, r request) (data []byte, pause time.Duration, err error) {
	req, err := c.prepare(ctx, r)
	if err != nil {
		return nil, 0, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, 0, c.failure(ctx, r, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // whatever came will do
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		e := apiError(r.String(), resp, body)
		e.Message, e.RequestID = c.redact(e.Message), c.redact(e.RequestID)
		return nil, time.Duration(seconds) * time.Second, e
	}
	data, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, 0, c.failure(ctx, r, err)
	case len(data) > maxAnswer:
		return nil, 0, fmt.Errorf("%s: the answer is longer than %d bytes", r, maxAnswer)
	}
	return data, 0, nil
}

func (c *Client) prepare(ctx context.Context, r request) (*http.Request, error) {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("User-Agent", "rath")
	req.Header.Set("X-Request-ID", uuid.NewString())
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	} else if len(r.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// failure says that there was no answer, without the URL.
func (c *Client) failure(ctx context.Context, r request, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if text := err.Error(); c.redact(text) != text {
		err = errors.New(c.redact(text))
	}
	return &connectionError{r.String(), err}
}

// secretLength is how long a key must be to be a secret: a shorter one is a placeholder,
// and may well be a word of a message.
const secretLength = 8

// redact takes the key out of a text: servers repeat what they were sent.
func (c *Client) redact(text string) string {
	if len(c.opts.APIKey) < secretLength {
		return text
	}
	return strings.ReplaceAll(text, c.opts.APIKey, "***")
}

// repeatable reports whether a request that failed can be sent again: it was not carried
// out, or it changes nothing.
func repeatable(r request, err error) bool {
	var a *APIError
	if errors.As(err, &a) {
		return a.passing() && (r.safe || a.Status == http.StatusTooManyRequests)
	}
	var c *connectionError
	if !errors.As(err, &c) {
		return false
	}
	var op *net.OpError
	return r.safe || errors.As(err, &op) && op.Op == "dial"
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

// newHTTP makes a client that follows no redirect: a key stays with its server.
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
