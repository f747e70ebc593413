package openai

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// A reply or a piece of one, as leniently as servers differ.
type (
	completion struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Choices []choice        `json:"choices"`
		Usage   *usage          `json:"usage"`
		Error   json.RawMessage `json:"error"`
	}
	choice struct {
		Index        int    `json:"index"`
		Delta        *body  `json:"delta"`
		Message      *body  `json:"message"`
		FinishReason string `json:"finish_reason"`
	}
	body struct {
		Content          text         `json:"content"`
		Refusal          string       `json:"refusal"`
		ReasoningContent string       `json:"reasoning_content"` // DeepSeek, vLLM, LiteLLM
		Reasoning        string       `json:"reasoning"`         // OpenRouter, Ollama
		ToolCalls        []callDelta  `json:"tool_calls"`
		FunctionCall     *oldFunction `json:"function_call"`
	}
	callDelta struct {
		Index        *int            `json:"index"`
		ID           string          `json:"id"`
		Function     oldFunction     `json:"function"`
		ExtraContent json.RawMessage `json:"extra_content"`
	}
	oldFunction struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	}
	usage struct {
		PromptTokens        int64 `json:"prompt_tokens"`
		CompletionTokens    int64 `json:"completion_tokens"`
		PromptTokensDetails struct {
			CachedTokens     int64 `json:"cached_tokens"`
			CacheWriteTokens int64 `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionTokensDetails struct {
			ReasoningTokens int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
		PromptCacheHitTokens int64    `json:"prompt_cache_hit_tokens"` // DeepSeek
		Cost                 *float64 `json:"cost"`                    // OpenRouter, in US dollars
	}
)

// text is a string, null, or a list of parts of which the texts count.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return json.Unmarshal(data, (*string)(t))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	err := json.Unmarshal(data, &parts)
	for _, p := range parts {
		*t += text(p.Text)
	}
	return err
}

// arguments are a string, or the object itself.
type arguments string

func (a *arguments) UnmarshalJSON(data []byte) error {
	if data[0] == '{' || data[0] == '[' {
		*a = arguments(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(a))
}

// reader turns what the server sends into deltas.
type reader struct {
	model string
	whole bool // the reply comes in one piece
	yield func(llm.Delta, error) bool

	stop  llm.Stop
	begun bool // something of the reply has come
	done  bool // the server said that this is the end
	slots []slot
}

// event reads one object. It returns false when the loop is over.
func (r *reader) event(data []byte) bool {
	var c completion
	if err := json.Unmarshal(data, &c); err != nil {
		r.yield(llm.Delta{}, llm.ErrorOfUnknown(r.model, "completion", data, err))
		return false
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		r.yield(llm.Delta{}, llm.ErrorOfBody(r.model, data))
		return false
	}
	d := llm.Delta{ID: c.ID, Model: c.Model}
	if c.Usage != nil {
		d.Usage = c.Usage.session()
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // asked for with Params.N, and not used
		}
		b, find := ch.Delta, r.find
		if b == nil || r.whole && ch.Message != nil { // some servers send both, always
			b, find = ch.Message, apart
		}
		if b != nil && !r.body(&d, *b, find) {
			return false
		}
		if ch.FinishReason != "" {
			r.stop = stopOf(ch.FinishReason)
		}
	}
	if d == (llm.Delta{ID: c.ID, Model: c.Model}) && r.begun {
		return true // nothing new
	}
	return r.yield(d, nil)
}

// body adds the pieces of the reply to the delta; calls are deltas of their own, and
// find says which one a piece goes on with.
func (r *reader) body(d *llm.Delta, b body, find func(callDelta) int) bool {
	d.Reasoning += either(b.ReasoningContent, b.Reasoning)
	d.Text += string(b.Content) + b.Refusal
	r.begun = r.begun || d.Text != "" || d.Reasoning != "" || len(b.ToolCalls) > 0 || b.FunctionCall != nil
	if b.FunctionCall != nil {
		b.ToolCalls = append(b.ToolCalls, callDelta{Function: *b.FunctionCall})
	}
	for i, c := range b.ToolCalls {
		if i == 0 && (d.Text != "" || d.Reasoning != "") { // keep the order
			if !r.yield(*d, nil) {
				return false
			}
			*d = llm.Delta{}
		}
		if !r.yield(llm.Delta{Call: r.call(c, find(c))}, nil) {
			return false
		}
	}
	return true
}

// slot is a call whose pieces are coming.
type slot struct {
	index *int // the server's; nil: it gave none
	id    string
	name  string
	begun bool // arguments have come
	whole bool // the first that came were all
}

// call makes the delta of a piece of the call in a slot, -1 for a new one.
func (r *reader) call(c callDelta, i int) *llm.CallDelta {
	if i < 0 {
		i = len(r.slots)
		r.slots = append(r.slots, slot{index: c.Index})
	}
	s, f := &r.slots[i], c.Function
	s.id, s.name = either(s.id, c.ID), either(s.name, f.Name)
	if f.Arguments != "" && !s.begun {
		s.begun, s.whole = true, c.whole()
	}
	return &llm.CallDelta{Index: i, ID: c.ID, Name: f.Name, Arguments: string(f.Arguments), Extra: string(c.ExtraContent)}
}

// apart is the find of a message that comes in one piece: each of its calls is one.
func apart(callDelta) int { return -1 }

// find returns the call that a piece of a stream goes on with, -1 for a new one. The
// index says it, unless the ids show that the server gives every call the same index.
// Without one, a known id does; without that, it is the last call. A piece that begins
// a call of its own goes on with none.
func (r *reader) find(c callDelta) int {
	i := len(r.slots) - 1
	if c.Index != nil || c.ID != "" {
		for i >= 0 && !r.slots[i].has(c) {
			i--
		}
	}
	if i >= 0 && r.slots[i].over(c) {
		return -1
	}
	return i
}

// has reports whether index and id of a piece are the slot's.
func (s *slot) has(c callDelta) bool {
	if c.Index == nil {
		return c.ID != "" && s.id == c.ID
	}
	return s.index != nil && *s.index == *c.Index && (c.ID == "" || s.id == "" || s.id == c.ID)
}

// over reports whether a piece shows that the slot's call is complete: it names another
// function, or both are whole calls.
func (s *slot) over(c callDelta) bool {
	name := c.Function.Name
	return name != "" && s.name != "" && name != s.name || s.whole && c.whole()
}

// whole reports whether a piece has a call's name and all its arguments.
func (c callDelta) whole() bool {
	args := c.Function.Arguments
	return c.Function.Name != "" && strings.HasPrefix(string(args), "{") && json.Valid([]byte(args))
}

// end yields the reason to stop, or the error that there is none.
func (r *reader) end(ctx context.Context, err error) {
	if r.stop == "" && r.done && r.begun {
		r.stop = llm.StopEnd
	}
	if r.stop == "" {
		r.yield(llm.Delta{}, llm.BodyError(ctx, r.model, err))
		return
	}
	if r.stop == llm.StopEnd && len(r.slots) > 0 {
		r.stop = llm.StopCalls // some servers say stop whatever the reason
	}
	r.yield(llm.Delta{Stop: r.stop}, nil)
}

func stopOf(reason string) llm.Stop {
	if reason == "function_call" {
		return llm.StopCalls
	}
	return llm.Stop(reason)
}

// session is nil where the server has counted nothing: there is no call without a token.
func (u *usage) session() *session.Usage {
	if u.PromptTokens == 0 && u.CompletionTokens == 0 {
		return nil
	}
	out := &session.Usage{
		Input: u.PromptTokens, Output: u.CompletionTokens,
		CacheRead:  max(u.PromptTokensDetails.CachedTokens, u.PromptCacheHitTokens),
		CacheWrite: u.PromptTokensDetails.CacheWriteTokens,
		Reasoning:  u.CompletionTokensDetails.ReasoningTokens,
		Cost:       session.Cost{Unpriced: 1},
	}
	if u.Cost != nil && *u.Cost >= 0 && *u.Cost < 1e9 { // beyond that it fits no integer
		out.Cost = session.Cost{Nano: int64(*u.Cost * 1e9)}
	}
	return out
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
