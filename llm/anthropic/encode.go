package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// defaultMaxTokens is sent when the caller sets none: the protocol wants one.
const defaultMaxTokens = 4096

// The request as the protocol has it. Zero members are left out.
type (
	request struct {
		Model         string        `json:"model"`
		MaxTokens     int           `json:"max_tokens"`
		System        []*block      `json:"system,omitempty"`
		Messages      []*turn       `json:"messages"`
		Tools         []toolSpec    `json:"tools,omitempty"`
		ToolChoice    *toolChoice   `json:"tool_choice,omitempty"`
		Stream        bool          `json:"stream,omitempty"`
		Temperature   *float64      `json:"temperature,omitempty"`
		TopP          *float64      `json:"top_p,omitempty"`
		StopSequences []string      `json:"stop_sequences,omitempty"`
		Metadata      *metadata     `json:"metadata,omitempty"`
		ServiceTier   string        `json:"service_tier,omitempty"`
		Thinking      *thinking     `json:"thinking,omitempty"`
		OutputConfig  *outputConfig `json:"output_config,omitempty"`
	}
	turn struct {
		Role    string   `json:"role"`
		Content []*block `json:"content"`
	}
	block struct {
		Type      string          `json:"type"`
		Text      string          `json:"text,omitempty"`
		Source    *source         `json:"source,omitempty"`
		Title     string          `json:"title,omitempty"`
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		ToolUseID string          `json:"tool_use_id,omitempty"`
		Content   []*block        `json:"content,omitempty"`
		IsError   bool            `json:"is_error,omitempty"`
		Thinking  *string         `json:"thinking,omitempty"`
		Signature string          `json:"signature,omitempty"`
		Data      string          `json:"data,omitempty"` // of redacted thinking
		Cache     *cacheControl   `json:"cache_control,omitempty"`
	}
	source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type,omitempty"`
		Data      string `json:"data,omitempty"`
		URL       string `json:"url,omitempty"`
	}
	toolSpec struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"input_schema"`
		Cache       *cacheControl   `json:"cache_control,omitempty"`
	}
	toolChoice struct {
		Type                   string `json:"type"`
		Name                   string `json:"name,omitempty"`
		DisableParallelToolUse bool   `json:"disable_parallel_tool_use,omitempty"`
	}
	metadata struct {
		UserID string `json:"user_id"`
	}
	thinking struct {
		Type         string `json:"type"`
		BudgetTokens int    `json:"budget_tokens"`
	}
	outputConfig struct {
		Effort string  `json:"effort,omitempty"`
		Format *format `json:"format,omitempty"`
	}
	format struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema,omitempty"`
	}
	cacheControl struct {
		Type string `json:"type"`
		TTL  string `json:"ttl,omitempty"`
	}
)

// encode writes the body. Params.Extra wins over all else.
func (m *Model) encode(req *llm.Request) ([]byte, error) {
	p := req.Params
	body := &request{
		Model: m.name, MaxTokens: maxTokens(p), Stream: !p.NoStream,
		Temperature: p.Temperature, TopP: p.TopP, StopSequences: p.Stop, ServiceTier: p.ServiceTier,
		ToolChoice: choiceOf(p, len(req.Tools) > 0),
	}
	for c := range req.All() {
		body.add(c)
	}
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, toolSpec{Name: t.Name, Description: t.Description, InputSchema: t.Schema})
	}
	if p.User != "" {
		body.Metadata = &metadata{p.User}
	}
	if p.ThinkingTokens > 0 {
		body.Thinking = &thinking{"enabled", p.ThinkingTokens}
	}
	if f := p.ResponseFormat; f.Type == "json_schema" || p.ReasoningEffort != "" {
		body.OutputConfig = &outputConfig{Effort: p.ReasoningEffort}
		if f.Type == "json_schema" {
			body.OutputConfig.Format = &format{f.Type, f.Schema}
		}
	}
	if p.PromptCache != "" {
		body.cache(p.PromptCache)
	}
	return llm.EncodeBody(body, p.Extra)
}

// maxTokens must leave room beyond what may be spent on thinking.
func maxTokens(p llm.Params) int {
	n := max(p.MaxTokens, p.MaxCompletionTokens)
	if n == 0 {
		n = defaultMaxTokens
	}
	if n <= p.ThinkingTokens {
		n = p.ThinkingTokens + defaultMaxTokens
	}
	return n
}

func choiceOf(p llm.Params, tools bool) *toolChoice {
	single := p.ParallelToolCalls != nil && !*p.ParallelToolCalls
	switch p.ToolChoice.Mode {
	case llm.ToolRequired:
		return &toolChoice{Type: "any", DisableParallelToolUse: single}
	case llm.ToolNamed:
		return &toolChoice{Type: "tool", Name: p.ToolChoice.Name, DisableParallelToolUse: single}
	case llm.ToolNone:
		return &toolChoice{Type: "none"}
	}
	if tools && (single || p.ToolChoice.Mode == llm.ToolAuto) {
		return &toolChoice{Type: "auto", DisableParallelToolUse: single}
	}
	return nil
}

// add puts a chunk where it belongs: into the system prompt, or into the last turn if
// that is of the same role.
func (r *request) add(c session.Chunk) {
	switch c.Kind() {
	case session.KindSystem:
		r.System = append(r.System, blocks(c)...)
	case session.KindUser:
		r.say("user", blocks(c))
	case session.KindAssistant:
		r.say("assistant", assistant(c))
	case session.KindToolResult:
		r.say("user", []*block{{
			Type: "tool_result", ToolUseID: c.Answer().CallID,
			Content: blocks(c), IsError: c.Answer().Outcome != session.OK,
		}})
	}
}

func (r *request) say(role string, content []*block) {
	if len(content) == 0 {
		return // the server refuses empty turns
	}
	if last := len(r.Messages) - 1; last >= 0 && r.Messages[last].Role == role {
		r.Messages[last].Content = append(r.Messages[last].Content, content...)
		return
	}
	r.Messages = append(r.Messages, &turn{role, content})
}

// blocks are the parts of what is not the model's own.
func blocks(c session.Chunk) (out []*block) {
	for p := range c.Parts() {
		switch {
		case p.Kind == session.PartText && p.Text != "": // empty ones are refused
			out = append(out, &block{Type: "text", Text: p.Text})
		case p.Kind == session.PartImage:
			out = append(out, &block{Type: "image", Source: sourceOf(p)})
		case p.Kind == session.PartFile:
			out = append(out, &block{Type: "document", Source: sourceOf(p), Title: p.Name})
		}
	}
	return out
}

func sourceOf(p session.Part) *source {
	switch {
	case p.URL != "":
		return &source{Type: "url", URL: p.URL}
	case strings.HasPrefix(p.MIME, "text/"):
		return &source{Type: "text", MediaType: "text/plain", Data: p.Data}
	}
	return &source{Type: "base64", MediaType: p.MIME, Data: base64.StdEncoding.EncodeToString([]byte(p.Data))}
}

// assistant gives the model's own turn back: thinking first come first, then the calls.
// Reasoning of other providers has no signature, and is left out.
func assistant(c session.Chunk) (out []*block) {
	for p := range c.Parts() {
		switch p.Kind {
		case session.PartReasoning:
			if b := thought(p); b != nil {
				out = append(out, b)
			}
		case session.PartText:
			if p.Text != "" {
				out = append(out, &block{Type: "text", Text: p.Text})
			}
		}
	}
	for call := range c.Calls() {
		out = append(out, &block{Type: "tool_use", ID: call.ID, Name: call.Name, Input: input(call.Arguments)})
	}
	return out
}

// extra is what a reasoning part keeps of a thinking block beside its text.
type extra struct {
	Type      string `json:"type"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
}

func thought(p session.Part) *block {
	var e extra
	if json.Unmarshal([]byte(p.Extra), &e) != nil {
		return nil
	}
	switch {
	case e.Type == "thinking" && e.Signature != "":
		return &block{Type: e.Type, Thinking: &p.Text, Signature: e.Signature}
	case e.Type == "redacted_thinking":
		return &block{Type: e.Type, Data: e.Data}
	}
	return nil
}

// input must be an object: arguments that are none are wrapped, so that the transcript
// stays sendable.
func input(arguments string) json.RawMessage {
	var object map[string]json.RawMessage
	switch {
	case strings.TrimSpace(arguments) == "":
		return json.RawMessage("{}")
	case json.Unmarshal([]byte(arguments), &object) == nil && object != nil:
		return json.RawMessage(arguments)
	}
	data, _ := json.Marshal(map[string]string{"_raw": arguments}) // a map of strings always encodes
	return data
}

// cache marks what does not change from one request to the next: the tools, the system
// prompt and the last two turns of the user, four breakpoints at most.
func (r *request) cache(ttl string) {
	mark := &cacheControl{Type: "ephemeral"}
	if ttl != "5m" {
		mark.TTL = ttl
	}
	if n := len(r.Tools); n > 0 {
		r.Tools[n-1].Cache = mark
	}
	if n := len(r.System); n > 0 {
		r.System[n-1].Cache = mark
	}
	turns := 0
	for i := len(r.Messages) - 1; i >= 0 && turns < 2; i-- {
		if t := r.Messages[i]; t.Role == "user" {
			t.Content[len(t.Content)-1].Cache = mark
			turns++
		}
	}
}
