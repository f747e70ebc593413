package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/mcptool"
)

// maxTries is how often a person is asked for a form that does not fit.
const maxTries = 3

// elicit asks a person what an MCP server wants to know, while its tool runs.
func (d *drive) elicit(ctx context.Context, e mcptool.Elicitation) (mcptool.Answer, error) {
	if d.alone {
		return mcptool.Answer{}, nil // the server is told that nobody decided
	}
	problem := ""
	for range maxTries {
		decision, err := flow.Interrupt(ctx, flow.Request{Key: "mcp:" + e.Server, Kind: flow.KindInput, Message: elicitationText(e, problem), Data: elicitationData(e)})
		switch {
		case errors.Is(err, flow.ErrNobodyDecides), errors.Is(err, flow.ErrExpired):
			return mcptool.Answer{}, nil
		case err != nil:
			return mcptool.Answer{}, err
		case decision.Verdict == flow.Reject:
			return mcptool.Answer{Action: mcptool.Decline}, nil
		}
		content, err := formOf(decision, e.Schema)
		if err == nil {
			return mcptool.Answer{Action: mcptool.Accept, Content: content}, nil
		}
		problem = err.Error()
	}
	return mcptool.Answer{}, nil
}

// elicitationText says who asks, and what was wrong with the answer before.
func elicitationText(e mcptool.Elicitation, problem string) string {
	text := fmt.Sprintf("the MCP server %s asks, for its tool %s: %s", e.Server, e.Tool, e.Message)
	if e.URL != "" {
		text += "\nit wants this page to be visited: " + e.URL
	}
	if problem != "" {
		text += "\nthe answer before did not fit: " + problem
	}
	return text
}

// elicitationData is the form, which a text or a JSON object answers.
func elicitationData(e mcptool.Elicitation) json.RawMessage {
	if fields, err := fieldsOf(e.Schema); err != nil || len(fields) == 0 {
		return nil
	}
	return e.Schema
}

// fieldsOf are the fields of a form with their types.
func fieldsOf(schema json.RawMessage) (map[string]string, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var form struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for name, field := range form.Properties {
		fields[name] = field.Type
	}
	return fields, nil
}

// formOf is what a person has filled in: a JSON object, or, where the form has one field,
// its value.
func formOf(d flow.Decision, schema json.RawMessage) (map[string]any, error) {
	fields, err := fieldsOf(schema)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(d.Text)
	switch {
	case d.Verdict == flow.Edit:
		text = d.Arguments
	case d.Verdict == flow.Approve || len(fields) == 0:
		text = "{}"
	}
	content := map[string]any{}
	if err := json.Unmarshal([]byte(text), &content); err != nil {
		if len(fields) != 1 {
			return nil, errors.New("it must be a JSON object with the form's fields")
		}
		content = map[string]any{}
		for name, kind := range fields {
			content[name] = valueOf(text, kind)
		}
	}
	return content, checkForm(content, schema)
}

// valueOf reads a value as the type of its field.
func valueOf(text, kind string) any {
	if kind == "string" {
		return text
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text // the check says what is wrong
	}
	return value
}

func checkForm(content map[string]any, schema json.RawMessage) error {
	if len(schema) == 0 {
		return nil
	}
	form, err := tool.ParseSchema(schema)
	if err != nil {
		return err
	}
	return form.Validate(content)
}

// maxSamples is how often a server may ask the model in a run, or for each line of a batch
// on average: it is not trusted, and the model may cost. A run that is resumed counts anew.
const maxSamples = 32

// sampler answers a server by the run's model.
type sampler struct {
	model  llm.Model
	params llm.Params
	most   int64
	asked  atomic.Int64
}

// sample asks the model through an agent without tools: the request is in the record and
// in the lineage, and within the run's budget.
func (s *sampler) sample(ctx context.Context, req *llm.Request) (llm.Reply, error) {
	if s.asked.Add(1) > s.most {
		return llm.Reply{}, fmt.Errorf("the model was asked %d times since this run was begun or resumed, which is all that a server may", s.most)
	}
	agent := &flow.Agent{Name: "sample", Prompt: promptOf(req), Model: s.model, Params: s.params}
	agent.Params.Stop = req.Params.Stop
	if req.Params.Temperature != nil {
		agent.Params.Temperature = req.Params.Temperature
	}
	if n := req.Params.MaxTokens; n > 0 && (s.params.MaxTokens == 0 || n < s.params.MaxTokens) {
		agent.Params.MaxTokens = n
	}
	var chunks []session.Chunk
	for _, c := range req.Messages.All() {
		chunks = append(chunks, c)
	}
	stop := llm.StopEnd
	out, err := agent.Forward(flow.Observe(ctx, func(e flow.Event) {
		if r, ok := e.(flow.Reply); ok {
			stop = r.Stop
		}
	}), session.New(chunks...))
	if err != nil {
		return llm.Reply{}, err
	}
	return llm.Reply{Chunk: out.Transcript().Last(), Model: s.model.String(), Stop: stop}, nil
}

// promptOf is the system prompt of a request.
func promptOf(req *llm.Request) string {
	var parts []string
	for _, c := range req.Prompt.All() {
		parts = append(parts, c.Text())
	}
	return strings.Join(parts, "\n\n")
}
