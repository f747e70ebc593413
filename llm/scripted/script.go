package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// The form of a script:
//
//	{"replies": [
//	  {"text": "...", "reasoning": "...",
//	   "calls": [{"id": "...", "name": "...", "arguments": {...}}],
//	   "usage": {"input": 1, "output": 2}, "stop": "...", "delay_ms": 5},
//	  {"error": {"status": 429, "message": "...", "code": "...", "retry_after_ms": 100}}
//	]}
type (
	script struct {
		Replies []scriptReply `json:"replies"`
	}
	scriptReply struct {
		Text      string         `json:"text,omitempty"`
		Reasoning string         `json:"reasoning,omitempty"`
		Calls     []scriptCall   `json:"calls,omitempty"`
		Usage     *session.Usage `json:"usage,omitempty"`
		Stop      llm.Stop       `json:"stop,omitempty"`
		DelayMS   int64          `json:"delay_ms,omitempty"`
		Error     *scriptError   `json:"error,omitempty"`
	}
	scriptCall struct {
		ID        string         `json:"id,omitempty"`
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments,omitempty"` // a string is sent as it is, whether JSON or not
	}
	scriptError struct {
		Status       int    `json:"status,omitempty"`
		Message      string `json:"message,omitempty"`
		Code         string `json:"code,omitempty"`
		RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
	}
)

// SyntaxError says where a script is wrong.
type SyntaxError struct {
	File string
	Line int
	Err  error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("read script %s:%d: %v", e.File, e.Line, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// Hint shows the form.
func (e *SyntaxError) Hint() string {
	return `a script is {"replies":[{"text":..,"calls":[{"name":..,"arguments":{..}}]} | {"error":{"status":429,"message":..}}]}`
}

// Load makes a model of a script file.
func Load(file string) (*Model, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	replies, err := Parse(data)
	var bad *SyntaxError
	if errors.As(err, &bad) {
		bad.File = file
	}
	if err != nil {
		return nil, err
	}
	m := New(replies...)
	m.name += file
	return m, nil
}

// Parse reads a script. Unknown members are errors; an error is a *SyntaxError.
func Parse(data []byte) ([]Reply, error) {
	var s script
	if err := jsonv2.Unmarshal(data, &s, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, &SyntaxError{Line: lineOf(data, err), Err: err}
	}
	replies := make([]Reply, len(s.Replies))
	for i, r := range s.Replies {
		var err error
		if replies[i], err = r.reply(); err != nil {
			return nil, &SyntaxError{Line: 1, Err: fmt.Errorf("reply %d: %w", i, err)}
		}
	}
	return replies, nil
}

func lineOf(data []byte, err error) int {
	var syntax *jsontext.SyntacticError
	var semantic *jsonv2.SemanticError
	offset := int64(0)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.ByteOffset
	case errors.As(err, &semantic):
		offset = semantic.ByteOffset
	}
	return 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
}

func (r scriptReply) reply() (Reply, error) {
	out := Reply{Text: r.Text, Reasoning: r.Reasoning, Usage: r.Usage, Stop: r.Stop, Delay: time.Duration(r.DelayMS) * time.Millisecond}
	if r.Error != nil {
		if r.Text != "" || len(r.Calls) > 0 {
			return out, errors.New("it has both an answer and an error")
		}
		out.Error = r.Error.err()
	}
	for _, c := range r.Calls {
		call, err := c.call()
		if err != nil {
			return out, err
		}
		out.Calls = append(out.Calls, call)
	}
	return out, nil
}

func (c scriptCall) call() (session.Call, error) {
	if c.Name == "" {
		return session.Call{}, errors.New("a call has no name")
	}
	call := session.Call{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)}
	if c.Arguments.Kind() == '"' {
		return call, json.Unmarshal(c.Arguments, &call.Arguments)
	}
	return call, nil
}

func (e *scriptError) err() *llm.Error {
	kind := llm.KindOfStatus(e.Status)
	if e.Status == 0 {
		kind = llm.ErrConnection
	}
	return &llm.Error{
		Kind: kind, Status: e.Status, Code: e.Code, Message: e.Message,
		RetryAfter: time.Duration(e.RetryAfterMS) * time.Millisecond,
	}
}
