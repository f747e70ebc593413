package anthropic

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// What the server sends.
type (
	message struct {
		ID         string          `json:"id"`
		Model      string          `json:"model"`
		Content    []content       `json:"content"`
		StopReason string          `json:"stop_reason"`
		Usage      usage           `json:"usage"`
		Type       string          `json:"type"`
		Error      json.RawMessage `json:"error"`
	}
	content struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	event struct {
		Type         string  `json:"type"`
		Index        int     `json:"index"`
		Message      message `json:"message"`
		ContentBlock content `json:"content_block"`
		Delta        struct {
			Type        string `json:"type"`
			Text        string `json:"text"`
			Thinking    string `json:"thinking"`
			Signature   string `json:"signature"`
			PartialJSON string `json:"partial_json"`
			StopReason  string `json:"stop_reason"`
		} `json:"delta"`
		Usage *usage          `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	usage struct {
		InputTokens              *int64 `json:"input_tokens"`
		OutputTokens             *int64 `json:"output_tokens"`
		CacheReadInputTokens     *int64 `json:"cache_read_input_tokens"`
		CacheCreationInputTokens *int64 `json:"cache_creation_input_tokens"`
	}
)

// reader turns what the server sends into deltas.
type reader struct {
	model string
	yield func(llm.Delta, error) bool

	usage  usage
	stop   llm.Stop
	block  content // the open one
	empty  bool    // no input of the open call has come yet
	begun  bool    // a block has come
	called bool    // a call has
}

// message yields a reply that came in one piece.
func (r *reader) message(ctx context.Context, data []byte) {
	var m message
	err := json.Unmarshal(data, &m)
	switch {
	case m.Type == "error" || given(m.Error):
		r.yield(llm.Delta{}, llm.ErrorOfBody(r.model, data))
		return
	case err != nil, m.Type != "message" && m.Content == nil:
		r.yield(llm.Delta{}, llm.ErrorOfUnknown(r.model, "message", data, err))
		return
	case !r.yield(llm.Delta{ID: m.ID, Model: m.Model}, nil):
		return
	}
	for i, c := range m.Content {
		if !r.open(i, c) || !r.close(i) {
			return
		}
	}
	r.usage, r.stop = m.Usage, stopOf(m.StopReason)
	r.last(ctx)
}

// event reads one event of a stream. It returns false when the loop is over.
func (r *reader) event(ctx context.Context, data []byte) bool {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		r.yield(llm.Delta{}, llm.ErrorOfUnknown(r.model, "event", data, err))
		return false
	}
	if e.Type == "error" || given(e.Error) {
		r.yield(llm.Delta{}, llm.ErrorOfBody(r.model, data))
		return false
	}
	switch e.Type {
	case "message_start":
		r.usage = e.Message.Usage
		return r.yield(llm.Delta{ID: e.Message.ID, Model: e.Message.Model}, nil)
	case "content_block_start":
		return r.open(e.Index, e.ContentBlock)
	case "content_block_delta":
		return r.grow(e)
	case "content_block_stop":
		return r.close(e.Index)
	case "message_delta":
		r.stop = stopOf(e.Delta.StopReason)
		r.usage.update(e.Usage)
	case "message_stop":
		r.last(ctx)
		return false
	}
	return true // pings, and what is not known yet
}

func given(member json.RawMessage) bool { return len(member) > 0 && string(member) != "null" }

// last yields the reason to stop. Where the server gave none, its word that this is the
// end stands for one.
func (r *reader) last(ctx context.Context) {
	switch {
	case r.stop == "" && r.called:
		r.stop = llm.StopCalls
	case r.stop == "" && r.begun:
		r.stop = llm.StopEnd
	}
	r.end(ctx, nil)
}

// end yields the reason to stop, or the error that there is none.
func (r *reader) end(ctx context.Context, err error) {
	if r.stop == "" {
		r.yield(llm.Delta{}, llm.BodyError(ctx, r.model, err))
		return
	}
	r.yield(llm.Delta{Usage: r.usage.session(), Stop: r.stop}, nil)
}

// open begins a block; some servers put all of it here already.
func (r *reader) open(index int, c content) bool {
	r.block, r.empty, r.begun = c, true, true
	r.called = r.called || c.Type == "tool_use"
	switch c.Type {
	case "text":
		return c.Text == "" || r.yield(llm.Delta{Text: c.Text}, nil)
	case "thinking":
		return c.Thinking == "" || r.yield(llm.Delta{Reasoning: c.Thinking}, nil)
	case "tool_use":
		d := &llm.CallDelta{Index: index, ID: c.ID, Name: c.Name}
		if in := strings.TrimSpace(string(c.Input)); in != "" && in != "{}" && in != "null" {
			d.Arguments, r.empty = string(c.Input), false
		}
		return r.yield(llm.Delta{Call: d}, nil)
	}
	return true
}

func (r *reader) grow(e event) bool {
	switch e.Delta.Type {
	case "text_delta":
		return r.yield(llm.Delta{Text: e.Delta.Text}, nil)
	case "thinking_delta":
		return r.yield(llm.Delta{Reasoning: e.Delta.Thinking}, nil)
	case "signature_delta":
		r.block.Signature += e.Delta.Signature
	case "input_json_delta":
		r.empty = r.empty && e.Delta.PartialJSON == ""
		return r.yield(llm.Delta{Call: &llm.CallDelta{Index: e.Index, Arguments: e.Delta.PartialJSON}}, nil)
	}
	return true
}

// close ends a block with what must be kept of it beside its text.
func (r *reader) close(index int) bool {
	c := r.block
	r.block = content{}
	switch {
	case c.Type == "thinking":
		return r.yield(llm.Delta{Extra: extra{Type: c.Type, Signature: c.Signature}.json()}, nil)
	case c.Type == "redacted_thinking":
		part := session.Reasoning("", extra{Type: c.Type, Data: c.Data}.json())
		return r.yield(llm.Delta{Part: &part}, nil)
	case c.Type == "tool_use" && r.empty:
		return r.yield(llm.Delta{Call: &llm.CallDelta{Index: index, Arguments: "{}"}}, nil)
	}
	return true
}

func (e extra) json() string {
	data, _ := llm.EncodeBody(e, nil) // a struct of strings always encodes
	return strings.TrimSpace(string(data))
}

// update takes the newer counts, as far as they are given.
func (u *usage) update(v *usage) {
	if v == nil {
		return
	}
	for _, c := range []struct{ old, new **int64 }{
		{&u.InputTokens, &v.InputTokens}, {&u.OutputTokens, &v.OutputTokens},
		{&u.CacheReadInputTokens, &v.CacheReadInputTokens}, {&u.CacheCreationInputTokens, &v.CacheCreationInputTokens},
	} {
		if *c.new != nil {
			*c.old = *c.new
		}
	}
}

// session counts cached tokens into the input, which Anthropic does not. nil: the server
// has counted nothing, and there is no call without a token.
func (u usage) session() *session.Usage {
	read, write := value(u.CacheReadInputTokens), value(u.CacheCreationInputTokens)
	if value(u.InputTokens) == 0 && value(u.OutputTokens) == 0 && read == 0 && write == 0 {
		return nil
	}
	return &session.Usage{
		Input: value(u.InputTokens) + read + write, Output: value(u.OutputTokens),
		CacheRead: read, CacheWrite: write, Cost: session.Cost{Unpriced: 1},
	}
}

func value(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

func stopOf(reason string) llm.Stop {
	switch reason {
	case "end_turn", "stop_sequence":
		return llm.StopEnd
	case "max_tokens":
		return llm.StopLength
	case "tool_use":
		return llm.StopCalls
	case "refusal":
		return llm.StopFilter
	}
	return llm.Stop(reason)
}
