package llm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// NewHTTPClient returns the client that drivers use by default: Go's own transport with
// room for many connections to one server, since an agent hub talks to few hosts a lot.
func NewHTTPClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 1024, 256
	t.ReadBufferSize, t.WriteBufferSize = 1<<10, 1<<10 // most of what a session in flight takes
	return &http.Client{Transport: t}
}

// EncodeBody writes a request's body, < and & as they are, with the members of extra
// laid over it.
func EncodeBody(body any, extra map[string]json.RawMessage) ([]byte, error) {
	data, err := encodeJSON(body)
	if err != nil || len(extra) == 0 {
		return data, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	maps.Copy(members, extra)
	return encodeJSON(members)
}

func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// RequestError makes of what a request came to the error that it means: nil, ctx's own
// where that has ended, or a *Error.
func RequestError(ctx context.Context, model string, res *http.Response, err error) error {
	switch {
	case err == nil && isReply(res):
		return nil
	case ctx.Err() != nil && err != nil:
		return AsError(model, ctx.Err())
	case err == nil, res != nil && res.StatusCode >= 400:
		return ErrorOfResponse(model, res)
	}
	return AsError(model, err)
}

// isReply reports whether a response may be a model's: a page to log in at is none.
func isReply(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return res.StatusCode < 300 && kind != "text/html"
}

// BodyError is the error of a reply that ended too soon: ctx's own where that has ended,
// or a *Error. err is what reading met, nil at the reply's end.
func BodyError(ctx context.Context, model string, err error) error {
	var over *http.MaxBytesError
	switch {
	case ctx.Err() != nil:
		return AsError(model, ctx.Err())
	case isTimeout(err):
		return AsError(model, err)
	case errors.Is(err, bufio.ErrTooLong), errors.As(err, &over):
		return &Error{Kind: ErrMalformed, Model: model, Message: "the reply, or a line of it, is too long", Err: err}
	}
	return &Error{Kind: ErrConnection, Model: model, Message: "the reply was cut off", Err: err}
}

// ErrorOfUnknown is the error of what a server sent that is nothing known; what says
// what it should be.
func ErrorOfUnknown(model, what string, data []byte, err error) *Error {
	shown := strings.ToValidUTF8(string(data[:min(len(data), 200)]), "")
	return &Error{Kind: ErrMalformed, Model: model, Message: "the server sent what is no " + what + ": " + strings.TrimSpace(shown), Err: err}
}

// ErrorOfResponse makes a *Error of a response that is no success, and reads its body.
// The body may be a provider's error object, or a page that something in between sent.
func ErrorOfResponse(model string, res *http.Response) *Error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, errorLimit)) // whatever came will do
	res.Body.Close()
	e := &Error{Kind: KindOfStatus(res.StatusCode), Model: model, Status: res.StatusCode, RetryAfter: retryAfter(res.Header, time.Now())}
	e.RequestID = either(res.Header.Get("x-request-id"), res.Header.Get("request-id"))
	e.Message, e.Code = errorBody(body)
	if e.Message == "" {
		e.Message = http.StatusText(res.StatusCode)
	}
	if res.StatusCode < 300 {
		e.Message = "the server sent a web page: " + e.Message
	}
	if res.Request != nil {
		e.URL = SafeURL(res.Request.URL)
	}
	return e
}

// ErrorOfBody makes a *Error of an error object that came inside a successful response.
func ErrorOfBody(model string, body []byte) *Error {
	e := &Error{Kind: ErrServer, Model: model}
	e.Message, e.Code = errorBody(body)
	switch {
	case strings.Contains(e.Code, "rate_limit"):
		e.Kind = ErrRateLimit
	case strings.Contains(e.Code, "invalid"), strings.Contains(e.Code, "not_found"):
		e.Kind = ErrBadRequest
	case strings.Contains(e.Code, "auth"), strings.Contains(e.Code, "permission"):
		e.Kind = ErrAuth
	case strings.Contains(e.Code, "timeout"):
		e.Kind = ErrTimeout
	}
	if status, err := strconv.Atoi(e.Code); err == nil && status >= 400 {
		e.Kind, e.Status = KindOfStatus(status), status
	}
	return e
}

var tags = regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`)

// errorBody finds what a body says: {"error": {"message", "type", "code"}}, {"error":
// "text"}, {"message"}, or the beginning of a text or page.
func errorBody(body []byte) (message, code string) {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Type    string          `json:"type"`
	}
	if json.Unmarshal(body, &outer) != nil {
		text := strings.Join(strings.Fields(tags.ReplaceAllString(string(body), " ")), " ")
		return strings.ToValidUTF8(text[:min(len(text), 300)], ""), ""
	}
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	var text string
	switch {
	case json.Unmarshal(outer.Error, &inner) == nil && inner.Message != "":
		code, _ = inner.Code.(string)
		if n, ok := inner.Code.(float64); ok {
			code = strconv.Itoa(int(n))
		}
		return inner.Message, either(code, inner.Type)
	case json.Unmarshal(outer.Error, &text) == nil:
		return text, ""
	}
	return outer.Message, outer.Type
}

// retryAfter reads the time that a server asks for: in seconds, as a date, or in
// OpenAI's milliseconds.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("retry-after-ms"), 64); err == nil && ms > 0 {
		return times(ms, time.Millisecond)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return times(s, time.Second)
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// times is n units, or the longest time there is.
func times(n float64, unit time.Duration) time.Duration {
	if n >= float64(math.MaxInt64/unit) {
		return math.MaxInt64
	}
	return time.Duration(n * float64(unit))
}
