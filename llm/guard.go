package llm

import (
	"bufio"
	"bytes"
	"io"
	"mime"
	"net/http"
)

// What is read of an answer at most: no reply is as long, and of an error the beginning
// says what it is.
const (
	replyLimit = 64 << 20
	lineLimit  = 8 << 20
	errorLimit = 64 << 10
)

// Guard returns a copy of client, or of NewHTTPClient's if it is nil, to which a key can
// be given: it follows a redirect on the same server only, and ends answers that have no
// end.
func Guard(client *http.Client) *http.Client {
	if client == nil {
		client = NewHTTPClient()
	}
	guarded := *client
	guarded.Transport = limited{client.Transport}
	guarded.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		err := sameServer(req, via)
		if err == nil && client.CheckRedirect != nil {
			err = client.CheckRedirect(req, via)
		}
		if err == nil || err == http.ErrUseLastResponse {
			return err
		}
		return &refusal{SafeURL(via[0].URL), err}
	}
	return &guarded
}

// refusal is why a redirect is not followed. The client's own error names the target,
// which nothing was sent to.
type refusal struct {
	asked string // the URL that was
	err   error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// sameServer refuses a redirect that would carry the key, or the session, elsewhere. Go
// itself takes only some headers away. Nor would a POST do that becomes a GET.
func sameServer(to *http.Request, via []*http.Request) error {
	from := via[0]
	switch {
	case to.URL.Scheme != from.URL.Scheme || to.URL.Host != from.URL.Host, to.Method != from.Method:
		return &Error{Kind: ErrBadRequest, Message: "the server redirects to " + SafeURL(to.URL) + ", which is not followed: set the base URL to where the API is"}
	case len(via) >= 10:
		return &Error{Kind: ErrBadRequest, Message: "the server redirects in a circle"}
	}
	return nil
}

// limited is a transport that bounds what comes.
type limited struct{ next http.RoundTripper }

func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	next := l.next
	if next == nil {
		next = http.DefaultTransport
	}
	res, err := next.RoundTrip(req)
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode < http.StatusBadRequest:
		res.Body = http.MaxBytesReader(nil, res.Body, replyLimit)
		if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/event-stream" {
			res.Body = &lines{ReadCloser: res.Body}
		}
	default: // here, for the SDKs would read all of it
		body, _ := io.ReadAll(io.LimitReader(res.Body, errorLimit)) // whatever came will do
		res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(body))
	}
	return res, nil
}

// lines is a stream none of whose lines is longer than lineLimit. The SDKs would go on to
// 32 MB, and look through the whole line again for each piece of it that comes.
type lines struct {
	io.ReadCloser
	n int // bytes of the line so far
}

func (l *lines) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
		l.n = n - i - 1
	} else {
		l.n += n
	}
	if l.n > lineLimit {
		return n, bufio.ErrTooLong
	}
	return n, err
}
