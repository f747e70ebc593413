package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// formed asks for a reply in the form that the request's ResponseFormat says, and once
// more, saying what was wrong, where the first cannot be read. The usage is that of all
// replies, also with an error, which is a *misformed or the model's own.
func formed[T any](ctx context.Context, model llm.Model, req llm.Request, show func(llm.Delta), read func(llm.Reply) (T, error)) (v T, used session.Usage, err error) {
	for tries := 0; ; tries++ {
		reply, err := askForm(ctx, model, &req, show)
		used = used.Add(spent(reply, err))
		if err != nil {
			return v, used, err
		}
		v, err := read(reply)
		if err == nil {
			return v, used, nil
		}
		wrong := &misformed{saidIn(reply), err}
		if tries == 1 {
			return v, used, wrong
		}
		req.Messages = req.Messages.Append(wrong.answer()...)
	}
}

// askForm gets a reply. A server that refuses schemas is asked without.
func askForm(ctx context.Context, model llm.Model, req *llm.Request, show func(llm.Delta)) (llm.Reply, error) {
	reply, err := ask(ctx, model, req, show)
	var refused *llm.Error
	if errors.As(err, &refused) && refused.Kind == llm.ErrBadRequest && !req.Params.ResponseFormat.IsZero() {
		req.Params.ResponseFormat = llm.ResponseFormat{}
		reply, err = ask(ctx, model, req, show)
	}
	return reply, err
}

// inForm are settings that bind a reply to a schema. Tools are not offered, so none is
// to be chosen.
func inForm(p llm.Params, name string, schema json.RawMessage) llm.Params {
	p = wordsOnly(p)
	p.ResponseFormat = llm.ResponseFormat{Type: "json_schema", Name: name, Schema: schema}
	return p
}

// wordsOnly are settings for a request that offers no tools and takes any text.
func wordsOnly(p llm.Params) llm.Params {
	p.ResponseFormat, p.ToolChoice, p.ParallelToolCalls = llm.ResponseFormat{}, llm.ToolChoice{}, nil
	return p
}

// spent is what a reply cost. One that failed before it began cost nothing, as in an
// agent's loop.
func spent(reply llm.Reply, err error) session.Usage {
	if err != nil && len(slices.Collect(reply.Chunk.Parts())) == 0 {
		return session.Usage{}
	}
	return reply.Usage
}

// misformed is a reply that is not what was asked for.
type misformed struct {
	said string // bounded
	err  error
}

func (m *misformed) Error() string { return m.err.Error() }
func (m *misformed) Unwrap() error { return m.err }

// answer is what a model is told of a reply of its own. Of that it sees the words alone:
// calls would need results.
func (m *misformed) answer() []session.Chunk {
	wrong := session.User(session.Text(fmt.Sprintf("That is not what was asked for: %v. Answer with the JSON object alone.", m.err)))
	if m.said == "" {
		return []session.Chunk{wrong}
	}
	return []session.Chunk{session.Assistant([]session.Part{session.Text(m.said)}), wrong}
}

// saidTokens is how much is kept of what a model said in place of what it was asked for.
const saidTokens = 500

func saidIn(reply llm.Reply) string { return clip(strings.TrimSpace(reply.Chunk.Text()), saidTokens) }
