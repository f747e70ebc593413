package llm_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openrath-go/rath/llm"
)

// transport answers as it likes.
type transport func(*http.Request) *http.Response

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r), nil }

// endless is a body without an end that knows whether it was closed.
type endless struct{ closed bool }

func (e *endless) Read(p []byte) (int, error) { return len(p), nil }
func (e *endless) Close() error               { e.closed = true; return nil }

func TestGuardEndsAnswers(t *testing.T) {
	for status, want := range map[int]struct {
		read int64
		over bool
	}{200: {64 << 20, true}, 500: {64 << 10, false}} {
		body := &endless{}
		c := llm.Guard(&http.Client{Transport: transport(func(r *http.Request) *http.Response {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: body, Request: r}
		})})
		res, err := c.Get("http://host/")
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if n != want.read || (err != nil) != want.over || !body.closed {
			t.Errorf("%d: read %d bytes, %v, closed %v", status, n, err, body.closed)
		}
	}
}

func TestGuardFollows(t *testing.T) {
	for to, want := range map[string]string{
		"/v2":                       "",
		"http://host/v2?x=1":        "",
		"https://host/v2":           "https://host/v2,",
		"http://host:81/v2":         "http://host:81/v2,",
		"http://sub.host/":          "http://sub.host/,",
		"http://u:p@other/?key=key": "redirects to http://other/,",
		"/circle":                   "in a circle",
	} {
		asked := 0
		c := llm.Guard(&http.Client{Transport: transport(func(r *http.Request) *http.Response {
			if asked++; r.URL.Host != "host" || r.URL.Scheme != "http" {
				t.Errorf("%s: asked %s", to, r.URL)
			}
			status := http.StatusTemporaryRedirect
			if r.URL.Path == "/v2" {
				status = http.StatusOK
			}
			return &http.Response{StatusCode: status, Header: http.Header{"Location": {to}}, Body: http.NoBody, Request: r}
		})})
		_, err := c.Post("http://host/v1", "text/plain", strings.NewReader("x"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v after %d requests", to, err, asked)
		}
		var e *llm.Error
		if err != nil && (!errors.As(llm.AsError("m:", err), &e) || e.URL != "http://host/v1") {
			t.Errorf("%s: the error says that %s was asked", to, e.URL)
		}
	}
}

// A client's own rule about redirects stays.
func TestGuardKeepsTheClientsRule(t *testing.T) {
	c := llm.Guard(&http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: transport(func(r *http.Request) *http.Response {
			return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"/v2"}}, Body: http.NoBody, Request: r}
		}),
	})
	if res, err := c.Post("http://host/v1", "text/plain", strings.NewReader("x")); err != nil || res.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("%v, %v", res, err)
	}
	own := errors.New("not today")
	c = llm.Guard(&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return own }, Transport: c.Transport})
	_, err := c.Post("http://host/v1", "text/plain", strings.NewReader("x"))
	if err = llm.AsError("m:", err); !errors.Is(err, own) || err.Error() != "call model m: at http://host/v1: connection: not today" {
		t.Error(err)
	}
}
