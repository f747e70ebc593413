package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash"
	"reflect"
	"strings"
	"sync"

	"github.com/openrath-go/rath/session"
)

// Output is an agent whose answer is a T, in JSON. Its tools and its streaming work as
// ever; only the answer is bound to the schema of T, checked, and asked for once more if it
// does not fit. Set the fields before the first use; then it is safe for concurrent use.
//
//	review := &flow.Output[Verdict]{Agent: reviewer}
//	verdict, s, err := review.Run(ctx, s)
//
// T is what [jsonschema.For] makes a schema of: a struct with json and jsonschema tags,
// a list, a plain value. What is an [encoding.TextUnmarshaler] is asked for as a text, and a
// json.RawMessage may be any value.
//
// [jsonschema.For]: https://pkg.go.dev/github.com/google/jsonschema-go/jsonschema#For
type Output[T any] struct {
	Agent *Agent
	Name  string // of the form, for the server; empty: "output"

	once    sync.Once
	form    *form
	invalid error
}

// OutputError says that a model's answer was not what was asked for, when it was asked a
// second time too. The session that comes with it has what the model said.
type OutputError struct {
	Said string // the beginning and the end of the answer
	Err  error  // what is wrong with it
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("the answer does not fit: %v; it is %q", e.Err, e.Said)
}

func (e *OutputError) Unwrap() error { return e.Err }

// Hint says what can be done about it.
func (e *OutputError) Hint() string {
	return "use a model that answers by schema, or a simpler form; a longer answer may need more max_tokens"
}

// Forward runs the agent. The error is an [*OutputError] where the answer does not fit, or
// the agent's. A server that refuses schemas is asked without, and told the schema in words.
func (o *Output[T]) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	if err := o.Check(); err != nil {
		return s, fail(ctx, s.ID(), "output", err)
	}
	if o.Agent == nil {
		return s, fail(ctx, s.ID(), "output", missing("agent"))
	}
	out, err := o.Agent.forward(ctx, s, o.form)
	if err == nil {
		err = fail(ctx, out.ID(), "output", o.form.judge(out.Text())) // a tool may have ended it
	}
	return out, err
}

// Run is Forward that gives the answer. With an error that is the zero T.
func (o *Output[T]) Run(ctx context.Context, s session.Session) (T, session.Session, error) {
	out, err := o.Forward(ctx, s)
	if err != nil {
		var none T
		return none, out, err
	}
	v, err := o.Read(out)
	return v, out, err
}

// Read returns the answer that a session ends with. The error is an [*OutputError].
func (o *Output[T]) Read(s session.Session) (v T, err error) {
	if err := o.Check(); err != nil {
		return v, err
	}
	value, err := o.form.value(s.Text())
	if err == nil {
		err = json.Unmarshal(value, &v)
	}
	if err != nil {
		var none T
		return none, &OutputError{clip(strings.TrimSpace(s.Text()), saidTokens), err}
	}
	return v, nil
}

// Check reports whether T has a schema, and can be read from an answer.
func (o *Output[T]) Check() error {
	o.once.Do(func() {
		t := reflect.TypeFor[T]()
		o.form, o.invalid = newForm(t, cmp.Or(o.Name, "output"))
		if o.invalid != nil {
			o.invalid = fmt.Errorf("make a schema of %v: %w", t, o.invalid)
			return
		}
		o.form.fits = func(value []byte) error { return json.Unmarshal(value, new(T)) }
	})
	return o.invalid
}

// WorkflowName returns the agent's name.
func (o *Output[T]) WorkflowName() string {
	if o.Agent == nil {
		return "output"
	}
	return o.Agent.WorkflowName()
}

// Describe returns the agent's description.
func (o *Output[T]) Describe() string {
	if o.Agent == nil {
		return ""
	}
	return o.Agent.Describe()
}

func (o *Output[T]) title() string { return fmt.Sprintf("Output[%v]", reflect.TypeFor[T]()) }

func (o *Output[T]) fingerprint(h hash.Hash) {
	if o.Check() == nil {
		fmt.Fprintf(h, "%s %q\n", o.form.format.Schema, o.form.format.Name)
	}
}
