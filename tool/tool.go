// Package tool is what a model may call: a [Tool] has a name, a schema and a function,
// and says what it may change and which resources it holds while it runs. [Dispatch]
// runs the calls of one model reply, in parallel where they are disjoint.
//
// Next: [github.com/openrath-go/rath/llm], the models that call tools.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// ErrFatal stops the agent. Any other error of a tool goes to the model as a failed
// result, for it to do better.
var ErrFatal = errors.New("fatal tool error")

// Tool is a function that a model may call. Set its fields before the first use; then
// it is safe for concurrent use, as far as Run is. [New] makes one of a Go function.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments: an object

	// Class says what may be done about a call that began and left no result. The zero
	// value, Mutating, is never repeated blindly.
	Class effect.Class
	// Locks names what a call holds while it runs. nil: a ReadOnly tool holds nothing,
	// any other holds everything, alone.
	//
	// It is asked when no call that holds everything runs any more, so that symbolic links
	// lead where the call will find them; a tool that can change where they lead must hold
	// everything. A tool whose Run dispatches calls holds its own locks meanwhile, and
	// those calls do not wait for it. They fail where waiting for another call would be a
	// deadlock, and where they need everything and the tool has locked only a part.
	Locks func(ctx context.Context, arguments json.RawMessage) ([]Lock, error)
	// Timeout ends a call's context. Zero: no limit of its own.
	Timeout time.Duration
	// MaxOutput is how many bytes of text of a result the model gets to see; the rest is
	// cut, visibly. Zero: 48,000; negative: no limit.
	MaxOutput int
	// Approval makes each call wait for an [Approver], and be refused where there is
	// none.
	Approval bool
	// Final says that a call which succeeds is the agent's last act: the model is not asked
	// again, and the session ends with the call's result.
	Final bool
	// Origin is what the tool was made of, such as a workflow, for those who look for that.
	Origin any

	// Run does the work. The arguments have passed the schema. An error becomes a failed
	// result unless it is an ErrFatal. Run must return soon after ctx ends.
	Run func(ctx context.Context, arguments json.RawMessage) (Result, error)

	compile sync.Once
	schema  *Schema
	invalid error
}

// Result is what a tool gives back: parts for the model. The zero Result is an empty
// text.
type Result struct {
	Parts  []session.Part
	Failed bool // the parts tell of a failure
	// Made are sessions that the tool made on its way. They become parents of the session
	// that the call belongs to.
	Made []session.Session
}

// Spec describes the tool to a model.
func (t *Tool) Spec() llm.Tool {
	return llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema}
}

// Check reports what would keep the tool from working: no name, no function, or a
// schema that cannot be used.
func (t *Tool) Check() error {
	if t.Name == "" || t.Run == nil {
		return fmt.Errorf("tool %q: a tool needs a name and a function", t.Name)
	}
	return t.resolve()
}

func (t *Tool) resolve() error {
	t.compile.Do(func() {
		schema, err := ParseSchema(t.Schema)
		if err != nil {
			t.invalid = fmt.Errorf("tool %s: read its schema: %w", t.Name, err)
		}
		t.schema = schema
	})
	return t.invalid
}

// validate checks arguments against the schema.
func (t *Tool) validate(arguments json.RawMessage) error {
	if err := t.resolve(); err != nil {
		return err
	}
	var value map[string]any
	if err := json.Unmarshal(arguments, &value); err != nil {
		return fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	return t.schema.Validate(value)
}

// Set is the tools that an agent offers.
type Set []*Tool

// Find returns the tool of that name, nil if there is none.
func (s Set) Find(name string) *Tool {
	for _, t := range s {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Specs describes the tools to a model.
func (s Set) Specs() []llm.Tool {
	specs := make([]llm.Tool, len(s))
	for i, t := range s {
		specs[i] = t.Spec()
	}
	return specs
}

// Check reports every tool that would not work, and names that are given twice.
func (s Set) Check() error {
	var errs []error
	for i, t := range s {
		errs = append(errs, t.Check())
		if s[:i].Find(t.Name) != nil {
			errs = append(errs, fmt.Errorf("tool %s: there are two of that name", t.Name))
		}
	}
	return errors.Join(errs...)
}
