package openai

import (
	"encoding/base64"
	"encoding/json"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// The request as the protocol has it. Zero members are left out.
type (
	request struct {
		Model               string             `json:"model"`
		Messages            []message          `json:"messages"`
		Tools               []toolSpec         `json:"tools,omitempty"`
		ToolChoice          *llm.ToolChoice    `json:"tool_choice,omitempty"`
		ParallelToolCalls   *bool              `json:"parallel_tool_calls,omitempty"`
		Stream              bool               `json:"stream,omitempty"`
		StreamOptions       *streamOptions     `json:"stream_options,omitempty"`
		Temperature         *float64           `json:"temperature,omitempty"`
		TopP                *float64           `json:"top_p,omitempty"`
		MaxTokens           int                `json:"max_tokens,omitempty"`
		MaxCompletionTokens int                `json:"max_completion_tokens,omitempty"`
		Stop                []string           `json:"stop,omitempty"`
		N                   int                `json:"n,omitempty"`
		Seed                *int64             `json:"seed,omitempty"`
		FrequencyPenalty    *float64           `json:"frequency_penalty,omitempty"`
		PresencePenalty     *float64           `json:"presence_penalty,omitempty"`
		ResponseFormat      *responseFormat    `json:"response_format,omitempty"`
		LogitBias           map[string]float64 `json:"logit_bias,omitempty"`
		Logprobs            *bool              `json:"logprobs,omitempty"`
		TopLogprobs         *int               `json:"top_logprobs,omitempty"`
		ReasoningEffort     string             `json:"reasoning_effort,omitempty"`
		Verbosity           string             `json:"verbosity,omitempty"`
		Metadata            map[string]string  `json:"metadata,omitempty"`
		User                string             `json:"user,omitempty"`
		Store               *bool              `json:"store,omitempty"`
		ServiceTier         string             `json:"service_tier,omitempty"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	message struct {
		Role             string `json:"role"`
		Content          any    `json:"content"` // text, parts, or null
		ReasoningContent string `json:"reasoning_content,omitempty"`
		ToolCalls        []call `json:"tool_calls,omitempty"`
		ToolCallID       string `json:"tool_call_id,omitempty"`
	}
	call struct {
		ID           string          `json:"id"`
		Type         string          `json:"type"`
		Function     function        `json:"function"`
		ExtraContent json.RawMessage `json:"extra_content,omitempty"`
	}
	function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	toolSpec struct {
		Type     string       `json:"type"`
		Function toolFunction `json:"function"`
	}
	toolFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	responseFormat struct {
		Type       string      `json:"type"`
		JSONSchema *jsonSchema `json:"json_schema,omitempty"`
	}
	jsonSchema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict,omitempty"`
	}
	part struct {
		Type     string    `json:"type"`
		Text     *string   `json:"text,omitempty"`
		ImageURL *imageURL `json:"image_url,omitempty"`
		File     *file     `json:"file,omitempty"`
	}
	imageURL struct {
		URL string `json:"url"`
	}
	file struct {
		Filename string `json:"filename,omitempty"`
		FileData string `json:"file_data"`
	}
)

// encode writes the body. Params.Extra wins over all else.
func (m *Model) encode(req *llm.Request) ([]byte, error) {
	p := req.Params
	body := request{
		Model: m.name, Stream: !p.NoStream, ParallelToolCalls: p.ParallelToolCalls,
		Temperature: p.Temperature, TopP: p.TopP, MaxTokens: p.MaxTokens, MaxCompletionTokens: p.MaxCompletionTokens,
		Stop: p.Stop, N: p.N, Seed: p.Seed, FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty,
		LogitBias: p.LogitBias, Logprobs: p.Logprobs, TopLogprobs: p.TopLogprobs, ReasoningEffort: p.ReasoningEffort,
		Verbosity: p.Verbosity, Metadata: p.Metadata, User: p.User, Store: p.Store, ServiceTier: p.ServiceTier,
		Messages: make([]message, 0, req.Prompt.Len()+req.Messages.Len()),
	}
	var attached attachments
	for c := range req.All() {
		if c.Kind() != session.KindToolResult {
			body.Messages = attached.appendTo(body.Messages)
		}
		body.Messages = append(body.Messages, m.message(c, &attached))
	}
	body.Messages = attached.appendTo(body.Messages)
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, toolSpec{"function", toolFunction{t.Name, t.Description, t.Schema}})
	}
	if p.ToolChoice.Mode != "" {
		body.ToolChoice = &p.ToolChoice
	}
	if body.Stream && !m.opts.OmitStreamOptions {
		body.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if f := p.ResponseFormat; !f.IsZero() {
		body.ResponseFormat = &responseFormat{Type: f.Type}
		if len(f.Schema) > 0 {
			body.ResponseFormat.JSONSchema = &jsonSchema{f.Name, f.Schema, f.Strict}
		}
	}
	return llm.EncodeBody(body, p.Extra)
}

func (m *Model) message(c session.Chunk, attached *attachments) message {
	switch c.Kind() {
	case session.KindSystem:
		return message{Role: "system", Content: c.Text()}
	case session.KindToolResult:
		return message{Role: "tool", Content: resultOf(c, attached), ToolCallID: c.Answer().CallID}
	case session.KindAssistant:
		return m.assistant(c)
	}
	return message{Role: "user", Content: contentOf(c)}
}

func (m *Model) assistant(c session.Chunk) message {
	out := message{Role: "assistant"}
	if text := c.Text(); text != "" || c.NumCalls() == 0 {
		out.Content = text
	}
	if m.opts.EchoReasoning {
		for p := range c.Parts() {
			if p.Kind == session.PartReasoning {
				out.ReasoningContent += p.Text
			}
		}
	}
	for k := range c.Calls() {
		w := call{ID: k.ID, Type: "function", Function: function{k.Name, k.Arguments}}
		if json.Valid([]byte(k.Extra)) {
			w.ExtraContent = json.RawMessage(k.Extra)
		}
		out.ToolCalls = append(out.ToolCalls, w)
	}
	return out
}

// resultOf is a tool's result: plain text, with what is none attached.
func resultOf(c session.Chunk, attached *attachments) string {
	if plain(c) {
		return c.Text()
	}
	return attached.take(c)
}

// contentOf is plain text where there is only text, as most servers like it best.
func contentOf(c session.Chunk) any {
	if plain(c) {
		return c.Text()
	}
	var parts []part
	for p := range c.Parts() {
		if media, ok := mediaOf(p); ok {
			parts = append(parts, media)
		} else if p.Kind == session.PartText {
			parts = append(parts, part{Type: "text", Text: &p.Text})
		}
	}
	return parts
}

// plain reports whether a chunk has neither images nor files.
func plain(c session.Chunk) bool {
	for p := range c.Parts() {
		if _, ok := mediaOf(p); ok {
			return false
		}
	}
	return true
}

// mediaOf is an image or a file.
func mediaOf(p session.Part) (part, bool) {
	switch p.Kind {
	case session.PartImage:
		return part{Type: "image_url", ImageURL: &imageURL{address(p)}}, true
	case session.PartFile:
		return part{Type: "file", File: &file{p.Name, address(p)}}, true
	}
	return part{}, false
}

// address is a part's URL, or its data as one.
func address(p session.Part) string {
	if p.URL != "" {
		return p.URL
	}
	return "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString([]byte(p.Data))
}
