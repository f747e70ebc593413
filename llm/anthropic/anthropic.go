// Package anthropic speaks Anthropic's Messages.
//
// Requests, authorization and event streams are the official SDK's. The bodies are read
// and written here, so that thinking blocks go back to the byte as they came, which the
// server insists on.
//
// System chunks are joined into the system prompt wherever they stand. Of Params, those
// that Messages does not have are left out: n, seed, penalties, logprobs, logit_bias,
// verbosity, store.
//
// Next: [github.com/openrath-go/rath/llm/scripted], for tests.
package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/openrath-go/rath/llm"
)

const officialURL = "https://api.anthropic.com"

// Options say how to reach the server. Nothing is read from the environment.
type Options struct {
	APIKey     string       // required by Anthropic; other servers may do without
	BaseURL    string       // empty: Anthropic's own; /v1 at its end may be left out
	Beta       []string     // features to ask for, as anthropic-beta
	Header     http.Header  // sent with each request
	HTTPClient *http.Client // nil: llm.NewHTTPClient
}

// Model is a model behind a Messages server. It is safe for concurrent use.
type Model struct {
	name    string
	url     string
	secrets llm.Secrets
	client  anthropic.Client
}

// Open prepares a model. It makes no request; a missing key is an error where the server
// is Anthropic's own.
func Open(name string, opts *Options) (*Model, error) {
	if opts == nil {
		opts = &Options{}
	}
	m := &Model{name: name, url: "anthropic:" + name}
	base, err := llm.ParseBaseURL(m.url, cmp.Or(opts.BaseURL, officialURL))
	if err != nil {
		return nil, err
	}
	base.Path = strings.TrimSuffix(base.Path, "/v1")
	if opts.APIKey == "" && base.String() == officialURL {
		return nil, &llm.Error{Kind: llm.ErrAuth, Model: m.url, Message: "there is no API key for Anthropic"}
	}
	m.secrets = llm.SecretsOf(opts.APIKey, base, opts.Header)
	m.client = anthropic.Client{Options: opts.sdk(base)} // a literal: the constructor would read the environment
	return m, nil
}

// sdk are the SDK's options. Its own retries are off: llm.Retry does that, where it is
// seen.
func (o *Options) sdk(base *url.URL) []option.RequestOption {
	root := *base
	root.RawQuery, root.Fragment = "", ""
	opts := []option.RequestOption{option.WithMaxRetries(0), option.WithHTTPClient(llm.Guard(o.HTTPClient)), option.WithBaseURL(root.String() + "/")}
	for name, values := range base.Query() { // the SDK drops the query of a base URL
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
		}
	}
	if o.APIKey != "" {
		opts = append(opts, option.WithAPIKey(o.APIKey))
	}
	if len(o.Beta) > 0 {
		opts = append(opts, option.WithHeader("anthropic-beta", strings.Join(o.Beta, ",")))
	}
	for name, values := range o.Header {
		for _, v := range values {
			opts = append(opts, option.WithHeaderAdd(name, v))
		}
	}
	return opts
}

// String returns the model's URL, "anthropic:claude-...".
func (m *Model) String() string { return m.url }

// Stream asks for a message and yields it.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.secrets.Hide(func(yield func(llm.Delta, error) bool) {
		res, err := m.post(ctx, req)
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		defer res.Body.Close()
		r := &reader{model: m.url, yield: yield}
		if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/json" {
			m.whole(ctx, r, res.Body)
			return
		}
		m.pieces(ctx, r, res)
	})
}

// whole reads a message that came in one piece, asked for so or not.
func (m *Model) whole(ctx context.Context, r *reader, body io.Reader) {
	data, err := io.ReadAll(body)
	if err != nil || !json.Valid(data) {
		r.yield(llm.Delta{}, llm.BodyError(ctx, m.url, err))
		return
	}
	r.message(ctx, data)
}

// pieces reads a stream of events.
func (m *Model) pieces(ctx context.Context, r *reader, res *http.Response) {
	events := ssestream.NewDecoder(res)
	for events.Next() {
		switch e := events.Event(); {
		case len(bytes.TrimSpace(e.Data)) == 0: // a sign of life
		case e.Type == "error":
			r.yield(llm.Delta{}, llm.ErrorOfBody(m.url, e.Data))
			return
		case !r.event(ctx, e.Data):
			return
		}
	}
	r.end(ctx, events.Err())
}

func (m *Model) post(ctx context.Context, req *llm.Request) (*http.Response, error) {
	body, err := m.encode(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Model: m.url, Message: "encode the request", Err: err}
	}
	var res *http.Response
	err = m.client.Post(ctx, "v1/messages", body, &res)
	return res, llm.RequestError(ctx, m.url, res, err)
}
