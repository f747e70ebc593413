package openviking

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/openrath-go/rath/memory/driver"
)

// APIError is an answer of a server that is an error.
type APIError struct {
	Request   string // "POST /api/v1/content/write"
	Status    int
	Code      string // "NOT_FOUND"; empty if the answer is not OpenViking's
	Message   string
	RequestID string // for the server's log; empty if the server gave none
	actual    string // what is there, "file" or "directory", if it is not what was asked for
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

// kinds are what the server's codes are in the terms of drivers. The other codes are
// failures within the server, and of no kind.
var kinds = map[string]error{
	"INVALID_URI":         driver.ErrInvalidURI,
	"INVALID_ARGUMENT":    driver.ErrInvalid,
	"UNSUPPORTED_URI":     driver.ErrInvalid,
	"UNSUPPORTED_MODE":    driver.ErrInvalid,
	"INVALID_FILTER":      driver.ErrInvalid,
	"UNAUTHENTICATED":     driver.ErrUnauthorized,
	"PERMISSION_DENIED":   driver.ErrUnauthorized,
	"NOT_FOUND":           driver.ErrNotFound,
	"SESSION_EXPIRED":     driver.ErrNotFound,
	"ALREADY_EXISTS":      driver.ErrExists,
	"CONFLICT":            driver.ErrConflict,
	"ABORTED":             driver.ErrConflict,
	"WRITE_CONFLICT":      driver.ErrConflict,
	"FAILED_PRECONDITION": driver.ErrConflict,
	"RESOURCE_EXHAUSTED":  driver.ErrTransport,
	"UNAVAILABLE":         driver.ErrTransport,
	"MODEL_UNAVAILABLE":   driver.ErrTransport,
	"DEADLINE_EXCEEDED":   driver.ErrTransport,
	"UNIMPLEMENTED":       driver.ErrUnsupported,
	"NO_VECTOR_DB":        driver.ErrUnsupported,
}

// Unwrap returns what the error is in the terms of drivers, nil if there is none. The code
// decides, and the status of an answer without one.
func (e *APIError) Unwrap() error {
	switch {
	case e.noRoute():
		return driver.ErrUnsupported
	case e.Code != "":
		return kinds[e.Code]
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return driver.ErrUnauthorized
	case e.Status < 400, e.Status == http.StatusNotFound, e.Status == http.StatusMethodNotAllowed,
		e.Status == http.StatusTooManyRequests, e.Status >= 502 && e.Status <= 504:
		return driver.ErrTransport // not that server, or one in front of it
	}
	return nil
}

// noRoute reports whether the server does not know the call itself.
func (e *APIError) noRoute() bool { return e.Code == "NOT_FOUND" && e.Message == "Not Found" }

// Hint says what can be done about it, if anything.
func (e *APIError) Hint() string {
	switch {
	case e.Status == http.StatusUnauthorized:
		return "the server does not take this API key, or wants one"
	case e.Status == http.StatusForbidden:
		return "this key may not do that there"
	case e.Status == http.StatusTooManyRequests:
		return "the server is busy; try again later"
	case e.Status >= 300 && e.Status < 400:
		return "redirects are not followed: give the address where the API is"
	case e.Code == "":
		return "the address may not be that of an OpenViking server"
	case e.noRoute(), e.Code == "INVALID_ARGUMENT" && strings.Contains(e.Message, "Extra inputs"):
		return "the server is of another version than 0.4"
	case e.Status >= 500 && e.RequestID != "":
		return "the server's log tells more, of request " + e.RequestID
	}
	return ""
}

// passing reports whether it may be gone at the next attempt, and the request was refused
// as a whole.
func (e *APIError) passing() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// fault is the error in an envelope.
type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details struct {
		Actual     string `json:"actual"`
		Validation []struct {
			Loc     []any  `json:"loc"`
			Message string `json:"message"`
		} `json:"validation_errors"`
	} `json:"details"`
}

// apiError reads an answer that is an error.
func apiError(request string, resp *http.Response, body []byte) *APIError {
	e := &APIError{Request: request, Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-ID")}
	var form struct {
		Error *fault `json:"error"`
	}
	if json.Unmarshal(body, &form) != nil || form.Error == nil {
		e.Message = strings.TrimSpace(string(body[:min(len(body), 300)]))
		return e
	}
	e.Code, e.Message, e.actual = form.Error.Code, form.Error.Message, form.Error.Details.Actual
	for i, v := range form.Error.Details.Validation {
		if i > 0 { // the message has the first one
			e.Message += fmt.Sprintf("; %s: %s", strings.Trim(fmt.Sprint(v.Loc), "[]"), v.Message)
		}
	}
	return e
}

// isFolder reports whether a call for a file met a folder.
func isFolder(err error) bool {
	var e *APIError
	return errors.As(err, &e) && e.Code == "INVALID_ARGUMENT" && e.actual == "directory"
}

// hasCode reports whether an error is the server's with a code.
func hasCode(err error, code string) bool {
	var e *APIError
	return errors.As(err, &e) && e.Code == code
}

// connectionError is that a server gave no answer.
type connectionError struct {
	request string
	err     error
}

func (e *connectionError) Error() string {
	return fmt.Sprintf("%s: %v: %v", e.request, driver.ErrTransport, e.err)
}

func (e *connectionError) Unwrap() []error { return []error{driver.ErrTransport, e.err} }

// Hint says what to look after.
func (e *connectionError) Hint() string {
	if errors.Is(e.err, context.Canceled) {
		return ""
	}
	return "check that the server runs and can be reached from here"
}
