package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/openrath-go/rath/session"
)

// New makes a tool of a function. In is a struct: its JSON names are the arguments, a
// `jsonschema:"..."` tag describes one, omitempty or omitzero makes it optional. What
// Out becomes for the model: a string as it is, a [Result] or parts as they are,
// anything else its JSON.
//
// New panics if In has no JSON Schema, which is an error in the program.
func New[In, Out any](name, description string, fn func(context.Context, In) (Out, error)) *Tool {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("tool.New(%q): no schema for its arguments: %v", name, err))
	}
	data, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("tool.New(%q): encode the schema of its arguments: %v", name, err))
	}
	return &Tool{
		Name: name, Description: description, Schema: data,
		Run: func(ctx context.Context, arguments json.RawMessage) (Result, error) {
			var in In
			if err := json.Unmarshal(arguments, &in); err != nil {
				return Result{}, fmt.Errorf("decode the arguments of %s: %w", name, err)
			}
			out, err := fn(ctx, in)
			if err != nil {
				return Result{}, err
			}
			return resultOf(name, out)
		},
	}
}

func resultOf(name string, out any) (Result, error) {
	switch v := out.(type) {
	case Result:
		return v, nil
	case string:
		return Result{Parts: []session.Part{session.Text(v)}}, nil
	case session.Part:
		return Result{Parts: []session.Part{v}}, nil
	case []session.Part:
		return Result{Parts: v}, nil
	}
	text, err := encode(out)
	if err != nil {
		return Result{}, fmt.Errorf("encode the result of %s: %w", name, err)
	}
	return Result{Parts: []session.Part{session.Text(text)}}, nil
}

// LocksOf adapts a function of typed arguments to [Tool.Locks].
func LocksOf[In any](fn func(context.Context, In) ([]Lock, error)) func(context.Context, json.RawMessage) ([]Lock, error) {
	return func(ctx context.Context, arguments json.RawMessage) ([]Lock, error) {
		var in In
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, fmt.Errorf("decode the arguments: %w", err)
		}
		return fn(ctx, in)
	}
}
