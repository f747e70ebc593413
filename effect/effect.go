// Package effect is the one seam through which everything passes that a program
// cannot compute: model replies, tool calls, decisions, the clock, randomness.
//
// Plainly, [Do] just calls its function. When the context carries a [Journal], the
// same call is recorded, or answered from a record, with no change in user code:
// that is how a run is resumed after a crash and replayed offline.
//
// Next: [github.com/openrath-go/rath/run], which records what passes, and goes on from the record.
package effect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Class says what may be done about an effect that began and left no result.
type Class uint8

// The classes. Mutating is the zero value because it is the cautious one.
const (
	Mutating   Class = iota // never repeated blindly
	Idempotent              // may be repeated with the same key
	ReadOnly                // may be repeated freely
)

var classes = [...]string{"mutating", "idempotent", "read_only"}

// String returns the class's name on the wire.
func (c Class) String() string {
	if int(c) < len(classes) {
		return classes[c]
	}
	return fmt.Sprintf("unknown(%d)", c)
}

// MarshalText implements [encoding.TextMarshaler].
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText refuses names it does not know.
func (c *Class) UnmarshalText(text []byte) error {
	for i, n := range classes {
		if n == string(text) {
			*c = Class(i)
			return nil
		}
	}
	return fmt.Errorf("unknown effect class %q", text)
}

// Call describes one effect. A journal knows it again by the scope path, Kind, Name,
// the digest of Input's JSON and how often the same has come before.
type Call struct {
	Kind  string // "model", "tool", "clock", ...
	Name  string
	Input any // encoded only when there is a journal; pass a pointer to spare the copy
	Class Class
	Key   string // the idempotency key that the callee is given, if any
	Note  any    // kept with the intent for [History], in JSON; a journal does not know the call by it

	// Instant says that nothing can come between the call and its result, as with the
	// clock: a journal may leave the intent out.
	Instant bool

	// Counted says that every attempt counts, also one whose end is lost: the function runs
	// only once the intent is kept, as that of a Mutating call.
	Counted bool
}

// Journal records effects, or answers them from its records. It must be safe for
// concurrent use.
type Journal interface {
	// Begin notes the intent. If the entry has a recorded outcome, that stands for the
	// call; otherwise the call runs and End follows once. An error stops the call and is
	// returned to its caller as it is.
	Begin(ctx context.Context, path string, call Call) (Entry, error)
	// Knows reports whether the next Begin of the call would find its outcome recorded.
	Knows(path string, call Call) bool
}

// Entry is a journal's hold on one effect.
type Entry interface {
	// Recorded returns what the effect gave before, if it is known.
	Recorded() (Outcome, bool)
	// Context returns the context for the effect's function, in which a journal can tell
	// what happens within the effect.
	Context(ctx context.Context) context.Context
	// End records what the effect gave.
	End(ctx context.Context, out Outcome) error
}

// Outcome is what an effect gave: the JSON of its value, and its error's text when it
// failed. A value may come with an error.
type Outcome struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`

	// Cause is the error itself, for the journal to judge: a cancelled call, say, may
	// be left open rather than recorded as failed. In what is read back it is nil, or
	// the error to return in place of the text.
	Cause error `json:"-"`

	// Settled says that Value is what a person gave for a call whose end nobody saw. An
	// Out that is a [Settler] reads it its own way.
	Settled bool `json:"-"`
}

// Settler is implemented by a pointer to a result that people give in another form than
// it is recorded in.
type Settler interface {
	Settle(value json.RawMessage) error
}

// Error is an effect's error read back from a journal: the text of what was recorded.
// An error whose type matters to the caller belongs into the effect's value.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// ErrPanicked is recorded for an effect whose function did not return.
var ErrPanicked = errors.New("the effect panicked")

// Do performs an effect. Without a journal it calls fn and allocates nothing. With
// one, a recorded outcome is returned in fn's stead; otherwise the intent is recorded
// before fn runs and its outcome after.
func Do[Out any](ctx context.Context, call Call, fn func(context.Context) (Out, error)) (Out, error) {
	s := scopeOf(ctx)
	if s == nil || s.journal == nil {
		return fn(ctx)
	}
	// fn is called here and never handed on, so that callers' closures stay on the stack.
	var out Out
	entry, err := s.journal.Begin(ctx, s.Path(), call)
	if err != nil {
		return out, err
	}
	if recorded, ok := entry.Recorded(); ok {
		return restore[Out](call, recorded)
	}
	returned := false
	defer func() {
		if !returned { // the panic goes on, whatever End says
			_ = entry.End(context.WithoutCancel(ctx), Outcome{Error: ErrPanicked.Error(), Cause: ErrPanicked})
		}
	}()
	out, err = fn(entry.Context(ctx))
	returned = true
	value, encodeErr := Encode(out)
	if encodeErr != nil {
		return out, fmt.Errorf("record the result of %s %s: %w", call.Kind, call.Name, encodeErr)
	}
	if lossy(value) {
		out = reread(value, out)
	}
	if ended := end(ctx, entry, value, err); ended != nil {
		var none Out // what is not on record must not be built upon
		return none, ended
	}
	return out, err
}

// lossy reports whether JSON stands for text that was no UTF-8: bytes of that are
// written as this escape, and the character itself never is.
func lossy(value json.RawMessage) bool { return bytes.Contains(value, []byte(`\ufffd`)) }

// reread returns what a replay will get, so that the program sees the same now.
func reread[Out any](value json.RawMessage, out Out) Out {
	var again Out
	if json.Unmarshal(value, &again) != nil {
		return out
	}
	return again
}

// Known reports whether the call's outcome is recorded, so that Do would not call its
// function. What only prepares the call can be left out then.
func Known(ctx context.Context, call Call) bool {
	s := scopeOf(ctx)
	return s != nil && s.journal != nil && s.journal.Knows(s.Path(), call)
}

func end(ctx context.Context, entry Entry, value json.RawMessage, err error) error {
	outcome := Outcome{Value: value, Cause: err}
	if err != nil {
		outcome.Error = err.Error()
	}
	// What happened must be recorded even if the caller has stopped waiting.
	return entry.End(context.WithoutCancel(ctx), outcome)
}

func restore[Out any](call Call, recorded Outcome) (out Out, err error) {
	if settler, ok := any(&out).(Settler); ok && recorded.Settled {
		return out, settler.Settle(recorded.Value)
	}
	if len(recorded.Value) > 0 {
		if err := json.Unmarshal(recorded.Value, &out); err != nil {
			return out, fmt.Errorf("read the recorded result of %s %s: %w", call.Kind, call.Name, err)
		}
	}
	if recorded.Cause != nil {
		return out, recorded.Cause
	}
	if recorded.Error != "" {
		return out, &Error{recorded.Error}
	}
	return out, nil
}

// Encode writes the JSON of an input or a result, without the escapes of [json.Marshal]
// that only HTML needs: what encodes itself keeps its bytes, and so its digest.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
