package opensandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/openrath-go/rath/sandbox/driver"
)

// ErrNotFound is that a server knows no sandbox or snapshot of an id.
var ErrNotFound = errors.New("the server does not know it")

// APIError is an answer of a server that is an error.
type APIError struct {
	Request   string // "POST /sandboxes"
	Status    int
	Code      string // "DOCKER::SANDBOX_NOT_FOUND"; empty if the server gave none
	Message   string
	RequestID string // for the server's log; empty if the server gave none
}

func (e *APIError) Error() string {
	text := fmt.Sprintf("%s: status %d", e.Request, e.Status)
	for _, part := range []string{e.Code, e.Message} {
		if part != "" {
			text += ": " + part
		}
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Unwrap returns what the error is in the terms of sandboxes, nil if there is none. The
// status decides, and where it leaves that open, the code.
func (e *APIError) Unwrap() error {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fs.ErrPermission
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return driver.ErrUnsupported
	case http.StatusNotFound:
		switch kind := e.kind(); {
		case kind == "FILE_NOT_FOUND":
			return fs.ErrNotExist
		case strings.HasSuffix(kind, "NOT_FOUND"):
			return ErrNotFound
		case kind == "":
			return driver.ErrUnsupported // of the route
		}
	}
	if strings.HasSuffix(e.kind(), "NOT_SUPPORTED") {
		return driver.ErrUnsupported
	}
	return nil
}

// kind is the code without the part of the server that it comes from.
func (e *APIError) kind() string { return e.Code[strings.LastIndexByte(e.Code, ':')+1:] }

// Hint says what can be done about it, if anything.
func (e *APIError) Hint() string {
	switch {
	case e.Status == http.StatusUnauthorized && e.kind() == "MISSING_API_KEY":
		return "the server wants an API key"
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return "the server does not take this API key"
	case e.Status == http.StatusTooManyRequests:
		return "the server is busy; try again later"
	case e.kind() == "SANDBOX_IMAGE_PULL_FAILED":
		return "the server must be able to pull the image; check its name"
	case e.Status == http.StatusNotFound && e.Code == "":
		return "the server is older than this, or the URL is not that of an OpenSandbox server"
	}
	return ""
}

// maxError is how much of an error's body is read.
const maxError = 64 << 10

// apiError reads an answer that is an error, in whatever form it comes: with a code and a
// message; with one of FastAPI's details; with the daemon's error; or as a text.
func apiError(request string, resp *http.Response, body []byte) error {
	e := &APIError{Request: request, Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-ID")}
	var form struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Error   string `json:"error"`
		Detail  any    `json:"detail"`
	}
	if json.Unmarshal(body, &form) != nil {
		e.Message = strings.TrimSpace(string(body))
		return e
	}
	e.Code, e.Message = form.Code, form.Message
	switch {
	case form.Detail != nil:
		e.Message = detail(form.Detail)
	case e.Message == "":
		e.Message = form.Error
	}
	return e
}

// detail puts what FastAPI says of a body that it has refused into one line.
func detail(v any) string {
	items, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	var lines []string
	for _, item := range items {
		fields, _ := item.(map[string]any)
		var at []string
		loc, _ := fields["loc"].([]any)
		for _, part := range loc {
			at = append(at, fmt.Sprint(part))
		}
		lines = append(lines, fmt.Sprintf("%s: %v", strings.Join(at, "."), fields["msg"]))
	}
	return strings.Join(lines, "; ")
}

// GoneError is that a sandbox cannot be used any more, or for the time being.
type GoneError struct {
	ID     string
	State  string // "Terminated", "Paused", ...; empty: the server does not know the sandbox
	Reason string // the server's, "ttl_expiry" for one
	Err    error  // what failed
}

func (e *GoneError) Error() string {
	text := "sandbox " + e.ID
	if e.State == "" {
		text += " is not there any more, it has expired or was deleted"
	} else {
		text += " is " + strings.ToLower(e.State)
	}
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	return fmt.Sprintf("%s: %v", text, e.Err)
}

// Unwrap returns what failed.
func (e *GoneError) Unwrap() error { return e.Err }

// Is has a sandbox that is gone be a closed one, and not found.
func (e *GoneError) Is(target error) bool {
	return !e.paused() && (target == driver.ErrClosed || target == ErrNotFound)
}

func (e *GoneError) paused() bool { return e.State == StatePaused || e.State == StatePausing }

// Hint says what can be done about it.
func (e *GoneError) Hint() string {
	if e.paused() {
		return "resume it first"
	}
	return "open a new one; Options.Timeout is how long one lives that nobody renews"
}
