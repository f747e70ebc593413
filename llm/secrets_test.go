package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/openrath-go/rath/llm"
	"pgregory.net/rapid"
)

func failWith(err error) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, err) }
}

func TestSecrets(t *testing.T) {
	base, err := url.Parse("https://username:password@host/v1?key=in-the-query")
	if err != nil {
		t.Fatal(err)
	}
	s := llm.SecretsOf("sk-123456789", base, http.Header{"Authorization": {"Bearer tok-123456"}, "X-Short": {"word"}})
	for text, want := range map[string]string{
		"no key here, a word":            "no key here, a word",
		"key sk-123456789 is bad":        "key *** is bad",
		"header Bearer tok-123456":       "header ***",
		"token tok-123456":               "token ***",
		"https://username:password@h":    "https://***:***@h",
		"?key=in-the-query":              "?key=***",
		"cut off in the key sk-12345678": "cut off in the key ***",
	} {
		cause := fmt.Errorf("%w: %s", context.DeadlineExceeded, text)
		_, err := llm.Collect(s.Hide(failWith(&llm.Error{Kind: llm.ErrAuth, Message: text, Code: text, URL: text, RequestID: text, Err: cause})))
		var e *llm.Error
		if !errors.As(err, &e) || e.Message != want || e.Code != want || e.URL != want || e.RequestID != want || !strings.HasSuffix(e.Err.Error(), want) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q became %#v", text, err)
		}
	}
	if _, err := llm.Collect(s.Hide(failWith(context.Canceled))); err != context.Canceled {
		t.Errorf("an error without a secret is %v", err)
	}
}

// Wherever a key stands, nothing that a program may print of the error has it.
func TestSecretsAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-z0-9-]{8,40}`).Draw(t, "key")
		text := rapid.String().Draw(t, "before") + key + rapid.String().Draw(t, "after")
		s := llm.SecretsOf(key, &url.URL{}, nil)
		wrapped := &url.Error{Op: "Post", URL: "http://host/?key=" + key, Err: errors.New(text)}
		for _, err := range []error{errors.New(text), &llm.Error{Message: text}, llm.AsError("m:", wrapped)} {
			_, err = llm.Collect(s.Hide(failWith(err)))
			for ; err != nil; err = errors.Unwrap(err) {
				if strings.Contains(err.Error(), key) {
					t.Fatalf("%q shows %q", err, key)
				}
			}
		}
	})
}

func TestParseBaseURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://host/v1/":         "https://host/v1",
		"http://u:p@host:1/?q=1":   "http://u:p@host:1?q=1",
		"sk-secret":                "the base URL is no http",
		"sk-secret:1234":           "the base URL is no http",
		"ftp://u:sk-secret@host/":  "the base URL ftp://host/ is no http",
		"http://u:sk-secret@ho st": "the base URL is no http",
		"":                         "the base URL is no http",
	} {
		u, err := llm.ParseBaseURL("m:", text)
		if err == nil && u.String() != want || err != nil && !strings.Contains(err.Error(), want) || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
}

func TestErrorText(t *testing.T) {
	dial := &url.Error{Op: "Post", URL: "http://user:***@host/v1?key=k", Err: errors.New("connection refused")}
	for _, test := range []struct {
		err  error
		want string
	}{
		{&llm.Error{Kind: llm.ErrBadRequest, Model: "m:x", URL: "http://host/v1", Status: 400, Message: "no such tool"}, "call model m:x at http://host/v1: bad request (HTTP 400): no such tool"},
		{&llm.Error{Kind: llm.ErrServer, Status: 500, Message: "oops"}, "call model: server (HTTP 500): oops"},
		{llm.AsError("m:x", dial), "call model m:x at http://host/v1: connection: connection refused"},
	} {
		if test.err.Error() != test.want {
			t.Errorf("got  %s\nwant %s", test.err, test.want)
		}
	}
	for _, status := range []int{400, 404, 413, 500} {
		e := &llm.Error{Kind: llm.KindOfStatus(status), Status: status}
		if e.Hint() == "" {
			t.Errorf("HTTP %d has no hint", status)
		}
	}
}
