package llm

import (
	"cmp"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Secrets are texts that no error may show. Servers repeat in their messages what they
// were sent.
type Secrets []string

// secretLength is how long a text must be to be one: a shorter key is a placeholder for
// a server that wants none, and may well be a word of the message.
const secretLength = 8

// SecretsOf collects what is sent to a server beside the session: the key, the headers'
// values, and what a base URL has before the host and in its query.
func SecretsOf(key string, base *url.URL, header http.Header) Secrets {
	texts := []string{key}
	password, _ := base.User.Password()
	texts = append(texts, base.User.Username(), password)
	for _, values := range base.Query() {
		texts = append(texts, values...)
	}
	for _, values := range header {
		for _, v := range values {
			texts = append(append(texts, v), strings.Fields(v)...) // Bearer, and the key
		}
	}
	texts = slices.DeleteFunc(texts, func(t string) bool { return len(t) < secretLength })
	slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may hold another
	return texts
}

// Hide yields the stream with the secrets taken out of its errors.
func (s Secrets) Hide(deltas iter.Seq2[Delta, error]) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		for d, err := range deltas {
			if !yield(d, s.Redact(err)) {
				return
			}
		}
	}
}

// Redact returns err with the secrets taken out, still of its type; nil stays nil.
func (s Secrets) Redact(err error) error {
	var e *Error
	if err == nil || !errors.As(err, &e) {
		return s.hide(err)
	}
	shown := *e
	for _, text := range []*string{&shown.Message, &shown.Code, &shown.URL, &shown.RequestID} {
		*text = s.take(*text)
	}
	shown.Err = s.hide(e.Err)
	return &shown
}

// hide returns err itself, unless its text has a secret.
func (s Secrets) hide(err error) error {
	if err == nil {
		return nil
	}
	if text := s.take(err.Error()); text != err.Error() {
		return &redacted{text, err}
	}
	return err
}

// take replaces the secrets in a text, and the beginning of one that the text's end has
// cut.
func (s Secrets) take(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "***")
		for n := len(secret) - 1; n >= secretLength; n-- {
			if rest, ok := strings.CutSuffix(text, secret[:n]); ok {
				text = rest + "***"
				break
			}
		}
	}
	return text
}

// redacted is an error that still is what it was, but does not give itself away.
type redacted struct {
	text string
	err  error
}

func (r *redacted) Error() string        { return r.text }
func (r *redacted) Is(target error) bool { return errors.Is(r.err, target) }

// ParseBaseURL reads a server's address, slashes at its end gone. The error does not
// show an address that may be a key in the wrong place.
func ParseBaseURL(model, base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
		return u, nil
	}
	shown := ""
	if err == nil && u.Host != "" {
		shown = " " + SafeURL(u)
	}
	return nil, &Error{Kind: ErrBadRequest, Model: model, Message: "the base URL" + shown + " is no http or https address"}
}

// SafeURL is a URL without what may be secret: the user and the query.
func SafeURL(u *url.URL) string {
	shown := *u
	shown.User, shown.RawQuery, shown.Fragment, shown.RawFragment = nil, "", "", ""
	return shown.String()
}
