package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
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

func failureOf(name string, err error) Failure {
	var own *Failure
	if errors.As(err, &own) {
		return *own
	}
	return Failure{Kind: KindException, Message: name + " failed", Detail: err.Error()}
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

// guard turns a panic of a function that is not ours into an error: one bad tool must not
// end the program.
func guard[T any](ctx context.Context, t *Tool, what string, fn func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, what+" panicked", "tool", t.Name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s panicked: %v", what, p)
		}
	}()
	return fn()
}
