package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ErrorKind says what went wrong between us and the model.
type ErrorKind string

// The kinds of error.
const (
	ErrAuth       ErrorKind = "authentication" // 401, 403, or no key
	ErrRateLimit  ErrorKind = "rate_limit"     // 429
	ErrBadRequest ErrorKind = "bad_request"    // other 4xx: the request will never do
	ErrServer     ErrorKind = "server"         // 5xx
	ErrConnection ErrorKind = "connection"     // no answer, or one that broke off
	ErrTimeout    ErrorKind = "timeout"
	ErrMalformed  ErrorKind = "malformed" // an answer that breaks the protocol
)

// Error is a model call that failed. It marshals to JSON whole but for Err, so a
// journal can give it back with its type.
type Error struct {
	Kind       ErrorKind     `json:"kind"`
	Model      string        `json:"model,omitempty"` // as Model.String has it
	URL        string        `json:"url,omitempty"`   // that was asked, without user and query
	Status     int           `json:"status,omitempty"`
	Code       string        `json:"code,omitempty"` // the provider's word for it
	Message    string        `json:"message"`
	RequestID  string        `json:"request_id,omitempty"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"` // what the server asked for
	Err        error         `json:"-"`
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("call model")
	if e.Model != "" {
		b.WriteString(" " + e.Model)
	}
	if e.URL != "" {
		b.WriteString(" at " + e.URL)
	}
	fmt.Fprintf(&b, ": %s", strings.ReplaceAll(string(e.Kind), "_", " "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	switch {
	case e.Message != "":
		b.WriteString(": " + e.Message)
	case e.Err != nil:
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may do later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case ErrRateLimit, ErrServer, ErrConnection, ErrTimeout:
		return true
	}
	return false
}

// Hint says what the user can do about it, if anything.
func (e *Error) Hint() string {
	switch e.Kind {
	case ErrBadRequest:
		return e.badRequestHint()
	case ErrServer:
		return "the server failed, not the request: try again later"
	case ErrAuth:
		return e.authHint()
	case ErrRateLimit:
		return "wait, lower the parallelism, or raise the provider's limit"
	case ErrConnection:
		return "check the base URL and that the server is up: `rath doctor` shows it"
	case ErrTimeout:
		return "allow more time with --timeout"
	case ErrMalformed:
		return "check the base URL: the server does not keep to the protocol, or something between cut its answer"
	}
	return ""
}

// authHint tells a key that the server refused from one that was never there.
func (e *Error) authHint() string {
	switch kind, _, _ := strings.Cut(e.Model, ":"); {
	case e.Status != 0 || e.Code != "":
	case kind == "openai":
		return "export OPENAI_API_KEY=..., or AZURE_OPENAI_API_KEY for Azure; a program gives it as Options.APIKey"
	case kind == "anthropic":
		return "export ANTHROPIC_API_KEY=...; a program gives it as Options.APIKey"
	}
	return "check the API key: `rath doctor` shows where it comes from"
}

func (e *Error) badRequestHint() string {
	switch e.Status {
	case 0:
		return ""
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return "check the model's name and the base URL: `rath doctor` shows them"
	case http.StatusRequestEntityTooLarge:
		return "the session is too long for the server"
	}
	return "check that the model takes the settings and tools that it is given"
}

// KindOfStatus maps an HTTP status to the kind of error it means.
func KindOfStatus(status int) ErrorKind {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return ErrAuth
	case status == http.StatusTooManyRequests:
		return ErrRateLimit
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return ErrTimeout
	case status >= 500:
		return ErrServer
	case status < 400:
		return ErrMalformed // a page, or a way elsewhere, where a reply is due
	}
	return ErrBadRequest
}

// AsError makes a *Error of any error that a driver met on the wire: as it is if it is
// one, timeout if a deadline passed, connection otherwise. A cancelled ctx is the
// caller's own doing and is returned as it is. nil stays nil.
func AsError(model string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	e := &Error{Kind: ErrConnection, Model: model, Err: err}
	var request *url.Error
	if errors.As(err, &request) { // its text would have the query
		e.URL, e.Err = shownURL(request.URL), request.Err
	}
	var refused *refusal
	if errors.As(err, &refused) {
		e.URL, e.Err = refused.asked, refused.err
	}
	var known *Error
	switch {
	case errors.As(err, &known) && request == nil:
		return err
	case known != nil: // the client refused to go on
		e.Kind, e.Message, e.Err = known.Kind, known.Message, known.Err
	case isTimeout(err):
		e.Kind = ErrTimeout
	}
	return e
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return SafeURL(u)
}
