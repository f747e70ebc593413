package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

type object = map[string]any

// wireMessage is a message of either protocol.
type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
}

type wireBlock struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	ID        string `json:"id"`
	ToolUseID string `json:"tool_use_id"`
}

// read decodes the body and says what the real server would refuse about it.
func (r *Request) read() (problem string) {
	var body struct {
		Model     string            `json:"model"`
		Stream    bool              `json:"stream"`
		MaxTokens int               `json:"max_tokens"`
		Messages  []wireMessage     `json:"messages"`
		Tools     []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return "the body is no JSON: " + err.Error()
	}
	r.Model, r.Stream = body.Model, body.Stream
	for _, m := range body.Messages {
		r.Messages = append(r.Messages, m.message())
	}
	for _, raw := range body.Tools {
		var t struct {
			Name     string
			Function struct{ Name string }
		}
		_ = json.Unmarshal(raw, &t) // a tool without a name is found below
		r.Tools = append(r.Tools, t.Name+t.Function.Name)
	}
	switch {
	case r.Model == "" && !strings.Contains(r.Path, "/deployments/"):
		return "model is missing"
	case len(r.Messages) == 0:
		return "messages is empty"
	case r.Anthropic && body.MaxTokens < 1:
		return "max_tokens is missing"
	}
	return r.answered()
}

func (m wireMessage) message() Message {
	out := Message{Role: m.Role, Parts: 1}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, c.ID)
	}
	if m.ToolCallID != "" {
		out.Results = append(out.Results, m.ToolCallID)
	}
	if json.Unmarshal(m.Content, &out.Text) == nil {
		return out
	}
	var blocks []wireBlock
	_ = json.Unmarshal(m.Content, &blocks) // neither text nor blocks: an empty message
	out.Parts = len(blocks)
	for _, b := range blocks {
		out.Text += b.Text
		switch b.Type {
		case "tool_use":
			out.Calls = append(out.Calls, b.ID)
		case "tool_result":
			out.Results = append(out.Results, b.ToolUseID)
		}
	}
	return out
}

// answered checks that every tool call has its results directly behind it, and that
// Anthropic's roles alternate.
func (r *Request) answered() string {
	open := map[string]bool{}
	for i, m := range r.Messages {
		for _, id := range m.Results {
			if !open[id] {
				return fmt.Sprintf("messages.%d: result for %q, which was not called directly before", i, id)
			}
			delete(open, id)
		}
		if len(open) > 0 && len(m.Results) == 0 {
			return fmt.Sprintf("messages.%d: %d tool calls have no result", i, len(open))
		}
		if r.Anthropic && (m.Parts == 0 || i > 0 && r.Messages[i-1].Role == m.Role || m.Role == "system") {
			return fmt.Sprintf("messages.%d: a %s turn with %d blocks cannot stand here", i, m.Role, m.Parts)
		}
		for _, id := range m.Calls {
			open[id] = true
		}
	}
	if len(open) > 0 {
		return "the last tool calls have no result"
	}
	return ""
}

func (o *output) openai(r scripted.Reply) {
	calls := ids(r.Calls, "call", len(o.req.Messages))
	if !o.streams() {
		message := object{"role": "assistant", "content": r.Text, "tool_calls": o.openaiCalls(calls)}
		if r.Reasoning != "" {
			message["reasoning_content"] = r.Reasoning
		}
		body := object{"id": "chatcmpl-1", "object": "chat.completion", "model": o.req.Model, "choices": []any{object{"index": 0, "message": message, "finish_reason": o.finish(r)}}}
		if u := o.openaiUsage(r); u != nil {
			body["usage"] = u
		}
		o.whole(body)
		return
	}
	o.w.Header().Set("Content-Type", "text/event-stream")
	if o.quirks.EmptyChoices {
		o.event("", object{"id": "", "choices": []any{}, "prompt_filter_results": []any{}})
	}
	o.choice(object{"role": "assistant", "content": ""}, nil)
	for _, text := range pieces(r.Reasoning, 5) {
		o.choice(object{"reasoning_content": text}, nil)
	}
	for _, text := range o.text(r.Text) {
		o.choice(object{"content": text}, nil)
	}
	for i, c := range calls {
		o.streamCall(i, c)
	}
	o.choice(object{}, o.finish(r))
	if u := o.openaiUsage(r); u != nil {
		o.event("", object{"id": "chatcmpl-1", "model": o.req.Model, "choices": []any{}, "usage": u})
	}
	if !o.quirks.NoDone {
		o.write("data: [DONE]\n\n")
	}
}

func (o *output) choice(delta object, finish any) {
	o.event("", object{"id": "chatcmpl-1", "model": o.req.Model, "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
}

func (o *output) streamCall(i int, c session.Call) {
	piece := func(id string, f object) {
		call := object{"function": f}
		if id != "" {
			call["id"], call["type"] = id, "function"
		}
		switch {
		case o.quirks.OneIndex:
			call["index"] = 0
		case !o.quirks.NoIndex:
			call["index"] = i
		}
		o.choice(object{"tool_calls": []any{call}}, nil)
	}
	switch {
	case o.quirks.ObjectArgs:
		piece(c.ID, object{"name": c.Name, "arguments": json.RawMessage(c.Arguments)})
	case o.quirks.OddPieces:
		piece(c.ID, object{"name": c.Name, "arguments": ""})
		for _, text := range pieces(c.Arguments, 1) {
			piece("", object{"name": c.Name, "arguments": text})
		}
	default:
		piece(c.ID, object{"name": c.Name, "arguments": ""})
		for _, text := range pieces(c.Arguments, 7) {
			piece("", object{"arguments": text})
		}
	}
}

func (o *output) openaiCalls(calls []session.Call) (out []any) {
	for _, c := range calls {
		out = append(out, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
	}
	return out
}

func (o *output) finish(r scripted.Reply) string {
	if r.Stop == "" && len(r.Calls) > 0 && !o.quirks.SaysStop {
		return "tool_calls"
	}
	if r.Stop == "" {
		return "stop"
	}
	return string(r.Stop)
}

func (o *output) openaiUsage(r scripted.Reply) object {
	if o.quirks.OmitUsage || r.Usage == nil {
		return nil
	}
	u := r.Usage
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Total(),
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

func (o *output) anthropic(r scripted.Reply) {
	blocks := o.blocks(r)
	usage := o.anthropicUsage(r)
	if !o.streams() {
		o.whole(object{"id": "msg_1", "type": "message", "role": "assistant", "model": o.req.Model, "content": blocks, "stop_reason": stopReason(r), "usage": usage})
		return
	}
	o.w.Header().Set("Content-Type", "text/event-stream")
	o.event("message_start", object{"type": "message_start", "message": object{"id": "msg_1", "type": "message", "role": "assistant", "model": o.req.Model, "content": []any{}, "usage": usage}})
	o.event("ping", object{"type": "ping"})
	for i, b := range blocks {
		o.block(i, b)
	}
	o.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stopReason(r)}, "usage": usage})
	o.event("message_stop", object{"type": "message_stop"})
}

func (o *output) blocks(r scripted.Reply) (blocks []object) {
	if r.Reasoning != "" || r.Extra != "" {
		b := object{"type": "thinking", "thinking": r.Reasoning, "signature": "sig"}
		_ = json.Unmarshal([]byte(r.Extra), &b) // the script may say what the block has
		blocks = append(blocks, b)
	}
	if r.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": r.Text})
	}
	for _, c := range ids(r.Calls, "toolu", len(o.req.Messages)) {
		blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)})
	}
	return blocks
}

// block streams one block.
func (o *output) block(i int, b object) {
	start, deltas := object{"type": b["type"]}, []object{}
	switch b["type"] {
	case "text":
		start["text"] = ""
		for _, text := range o.text(b["text"].(string)) {
			deltas = append(deltas, object{"type": "text_delta", "text": text})
		}
	case "thinking":
		start["thinking"], start["signature"] = "", ""
		for _, text := range pieces(b["thinking"].(string), 5) {
			deltas = append(deltas, object{"type": "thinking_delta", "thinking": text})
		}
		deltas = append(deltas, object{"type": "signature_delta", "signature": b["signature"]})
	case "tool_use":
		start["id"], start["name"], start["input"] = b["id"], b["name"], object{}
		for _, text := range pieces(string(b["input"].(json.RawMessage)), 7) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": text})
		}
	default:
		start = b
	}
	o.event("content_block_start", object{"type": "content_block_start", "index": i, "content_block": start})
	for _, d := range deltas {
		o.event("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": d})
	}
	o.event("content_block_stop", object{"type": "content_block_stop", "index": i})
}

func (o *output) anthropicUsage(r scripted.Reply) object {
	if o.quirks.OmitUsage || r.Usage == nil {
		return object{}
	}
	u := r.Usage
	return object{
		"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "output_tokens": u.Output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
	}
}

func stopReason(r scripted.Reply) string {
	switch {
	case r.Stop == llm.StopLength:
		return "max_tokens"
	case r.Stop == llm.StopFilter:
		return "refusal"
	case r.Stop == "" && len(r.Calls) > 0, r.Stop == llm.StopCalls:
		return "tool_use"
	}
	return "end_turn"
}
