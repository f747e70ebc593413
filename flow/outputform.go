package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// form is what an answer must be. It does not change once it is made.
type form struct {
	format  llm.ResponseFormat
	schema  *jsonschema.Resolved
	wrapped bool // the value is the member "value" of an object: servers take nothing else
	fits    func(value []byte) error
}

func newForm(t reflect.Type, name string) (*form, error) {
	readers, err := readersIn(t)
	if err != nil {
		return nil, err
	}
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: readers})
	if err != nil {
		return nil, err
	}
	f := &form{wrapped: schema.Type != "object"}
	if f.wrapped {
		schema = &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"value": schema},
			Required: []string{"value"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
	}
	if f.schema, err = schema.Resolve(nil); err != nil {
		return nil, err
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var plain any
	err = json.Unmarshal(data, &plain)
	f.format = llm.ResponseFormat{Type: "json_schema", Name: name, Schema: data, Strict: isStrict(plain)}
	return f, err
}

// strictWords are what servers that hold models to a schema know of JSON Schema.
var strictWords = map[string]bool{
	"type": true, "description": true, "enum": true, "items": true,
	"properties": true, "required": true, "additionalProperties": true,
}

// isStrict reports whether servers can hold a model to a schema to the letter: every member
// is named and required. Others take such a schema as a hint.
func isStrict(v any) bool {
	schema, ok := v.(map[string]any)
	if !ok || schema["type"] == nil {
		return false
	}
	for word := range schema {
		if !strictWords[word] {
			return false
		}
	}
	if items, ok := schema["items"]; ok && !isStrict(items) {
		return false
	}
	members, _ := schema["properties"].(map[string]any)
	for _, m := range members {
		if !isStrict(m) {
			return false
		}
	}
	required, _ := schema["required"].([]any)
	return !takesObjects(schema["type"]) || schema["additionalProperties"] == false && len(required) == len(members)
}

func takesObjects(types any) bool {
	several, _ := types.([]any)
	return types == "object" || slices.Contains(several, any("object"))
}

var errNoAnswer = errors.New("there is no answer")

// value takes the JSON out of an answer, alone or in a fence of Markdown, and checks it.
func (f *form) value(text string) (json.RawMessage, error) {
	text = unfenced(strings.TrimSpace(text))
	if text == "" {
		return nil, errNoAnswer
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if err := f.schema.Validate(v); err != nil {
		return nil, err
	}
	if !f.wrapped {
		return json.RawMessage(text), nil
	}
	var w struct{ Value json.RawMessage }
	err := json.Unmarshal([]byte(text), &w)
	return w.Value, err
}

// judge says as an [*OutputError] what is wrong with an answer.
func (f *form) judge(text string) error {
	value, err := f.value(text)
	if err == nil {
		err = f.fits(value)
	}
	if err != nil {
		return &OutputError{clip(strings.TrimSpace(text), saidTokens), err}
	}
	return nil
}

// ask has a model reply within a loop. A server that refuses schemas is asked without, now
// and from now on.
func (f *form) ask(ctx context.Context, model llm.Model, req *llm.Request, show func(llm.Delta)) (llm.Reply, error) {
	reply, err := ask(ctx, model, req, show)
	var refused *llm.Error
	if f == nil || !errors.As(err, &refused) || refused.Kind != llm.ErrBadRequest || req.Params.ResponseFormat.IsZero() {
		return reply, err
	}
	req.Params.ResponseFormat = llm.ResponseFormat{}
	req.Prompt = req.Prompt.Append(session.System(session.Text(fmt.Sprintf(
		"When you answer and call no more tools, answer with a JSON object alone that fits this JSON Schema:\n%s", f.format.Schema))))
	return ask(ctx, model, req, show)
}

// bind has the loop's answer be in a form. Without one any will do.
func (l *loop) bind(f *form) {
	if l.form = f; f != nil {
		l.req.Params.ResponseFormat = f.format
	}
}

// mends asks for an answer again that does not fit, once. What is wrong with the last one
// is in misfit.
func (l *loop) mends(reply llm.Reply) bool {
	if l.form == nil {
		return false
	}
	again := l.misfit == nil
	if l.misfit = l.form.judge(reply.Chunk.Text()); l.misfit == nil || !again {
		return false
	}
	l.add([]session.Chunk{session.User(session.Text(fmt.Sprintf(
		"That is not what was asked for: %s. Answer with the JSON object alone.", clip(errors.Unwrap(l.misfit).Error(), saidTokens))))})
	return true
}
