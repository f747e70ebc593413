package tool

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/openrath-go/rath/session"
)

// The kinds of failure that a model is told of; the first three are OpenRath's.
const (
	KindInvalidArguments = "invalid_tool_arguments"
	KindUnknownTool      = "unknown_tool"
	KindException        = "tool_execution_exception"
	KindTimeout          = "tool_timeout"
	KindDenied           = "tool_denied"
	KindInterrupted      = "interrupted"
)

// Failure is the JSON that a model gets in place of a result.
type Failure struct {
	OK      bool   `json:"ok"` // always false
	Kind    string `json:"error_kind"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
}

// Error lets a tool return a Failure of its own kind.
func (f *Failure) Error() string {
	if f.Detail == "" {
		return f.Message
	}
	return f.Message + ": " + f.Detail
}

// Chunk makes the tool result that tells the model of the failure.
func (f Failure) Chunk(call session.Call, outcome session.Outcome) session.Chunk {
	text, _ := encode(f) // a struct of strings always encodes
	return session.ToolResult(answer(call, outcome), session.Text(text))
}

// Interrupted answers a call that was never finished, so that the transcript can go on.
func Interrupted(call session.Call) session.Chunk {
	return Failure{
		Kind:    KindInterrupted,
		Message: "the run was interrupted before " + call.Name + " gave a result; it may or may not have taken effect",
	}.Chunk(call, session.Interrupted)
}

func answer(call session.Call, outcome session.Outcome) session.Answer {
	return session.Answer{CallID: call.ID, Tool: call.Name, Outcome: outcome}
}

// encode writes JSON for a model to read: & and < stay what they are.
func encode(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
