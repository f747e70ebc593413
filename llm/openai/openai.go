// Package openai speaks Chat Completions, with OpenAI and with the many servers that are
// compatible with it: Azure OpenAI, vLLM, Ollama, llama.cpp, LiteLLM and other gateways.
//
// Requests, authorization and event streams are the official SDK's. The bodies are read
// and written here, because compatible servers differ in ways that the SDK's types
// cannot hold: they omit usage, add reasoning_content, send arguments in odd pieces or
// as objects.
//
// A reply is whole when its finish_reason has come, or [DONE] after some content. A
// stream that ends otherwise is an error.
//
// Next: [github.com/openrath-go/rath/llm/anthropic].
package openai

import (
	"cmp"
	"context"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openrath-go/rath/llm"
)

const officialURL = "https://api.openai.com/v1"

// Options say how to reach the server. Nothing is read from the environment.
type Options struct {
	APIKey     string       // required by OpenAI and Azure; others may do without
	BaseURL    string       // empty: OpenAI's own; for Azure the resource's address
	APIVersion string       // Azure's older interface wants one
	Header     http.Header  // sent with each request
	HTTPClient *http.Client // nil: llm.NewHTTPClient

	// OmitStreamOptions leaves out the request for usage at a stream's end, for servers
	// that refuse the member.
	OmitStreamOptions bool
	// EchoReasoning sends reasoning back as reasoning_content, for servers that want it.
	EchoReasoning bool
}

// Model is a model behind a Chat Completions server. It is safe for concurrent use.
type Model struct {
	name    string
	url     string
	path    string
	opts    Options
	secrets llm.Secrets
	client  openai.Client
}

// Open prepares a model. It makes no request; a missing key is an error where the server
// is known to want one.
func Open(name string, opts *Options) (*Model, error) {
	m := &Model{name: name, url: "openai:" + name, path: "chat/completions"}
	if opts != nil {
		m.opts = *opts
	}
	base, err := llm.ParseBaseURL(m.url, cmp.Or(m.opts.BaseURL, officialURL))
	if err != nil {
		return nil, err
	}
	azure := strings.HasSuffix(base.Hostname(), ".azure.com")
	if m.opts.APIKey == "" && (azure || base.String() == officialURL) {
		return nil, &llm.Error{Kind: llm.ErrAuth, Model: m.url, Message: "there is no API key for " + base.Host}
	}
	m.secrets = llm.SecretsOf(m.opts.APIKey, base, m.opts.Header)
	m.client = openai.Client{Options: m.options(base, azure)} // a literal: the constructor would read the environment
	return m, nil
}

// options are the SDK's. Its own retries are off: llm.Retry does that, where it is seen.
func (m *Model) options(base *url.URL, azure bool) []option.RequestOption {
	opts := []option.RequestOption{option.WithMaxRetries(0), option.WithHTTPClient(llm.Guard(m.opts.HTTPClient))}
	for name, values := range base.Query() { // the SDK drops the query of a base URL
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
		}
	}
	root := *base
	root.RawQuery, root.Fragment = "", ""
	switch {
	case azure:
		opts = append(opts, option.WithHeader("api-key", m.opts.APIKey))
		if !strings.HasSuffix(root.Path, "/v1") {
			root.Path = strings.TrimSuffix(root.Path, "/openai") + "/openai"
			m.path = "deployments/" + url.PathEscape(m.name) + "/chat/completions"
		}
	case m.opts.APIKey != "":
		opts = append(opts, option.WithAPIKey(m.opts.APIKey))
	}
	opts = append(opts, option.WithBaseURL(root.String()+"/"))
	if m.opts.APIVersion != "" {
		opts = append(opts, option.WithQuery("api-version", m.opts.APIVersion))
	}
	for name, values := range m.opts.Header {
		for _, v := range values {
			opts = append(opts, option.WithHeaderAdd(name, v))
		}
	}
	return opts
}

// String returns the model's URL, "openai:gpt-5.5".
func (m *Model) String() string { return m.url }

// Stream asks for a completion and yields it. Params.ThinkingTokens and PromptCache have
// no counterpart here and are left out.
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

func (m *Model) post(ctx context.Context, req *llm.Request) (*http.Response, error) {
	body, err := m.encode(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Model: m.url, Message: "encode the request", Err: err}
	}
	var res *http.Response
	err = m.client.Post(ctx, m.path, body, &res)
	return res, llm.RequestError(ctx, m.url, res, err)
}

// whole reads a reply that came in one piece, asked for so or not.
func (m *Model) whole(ctx context.Context, r *reader, body io.Reader) {
	data, err := io.ReadAll(body)
	if err != nil {
		r.yield(llm.Delta{}, llm.BodyError(ctx, m.url, err))
		return
	}
	if r.whole = true; !r.event(data) {
		return
	}
	if !r.begun && r.stop == "" {
		r.yield(llm.Delta{}, llm.ErrorOfUnknown(m.url, "completion", data, nil))
		return
	}
	r.done = true
	r.end(ctx, nil)
}

// pieces reads a stream of events.
func (m *Model) pieces(ctx context.Context, r *reader, res *http.Response) {
	events := ssestream.NewDecoder(res)
	for events.Next() {
		e := events.Event()
		switch text := strings.TrimSpace(string(e.Data)); {
		case text == "": // a sign of life
		case text == "[DONE]":
			r.done = true
			r.end(ctx, nil)
			return
		case e.Type == "error":
			r.yield(llm.Delta{}, llm.ErrorOfBody(m.url, e.Data))
			return
		case !r.event(e.Data):
			return
		}
	}
	r.end(ctx, events.Err())
}
