package memory

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openrath-go/rath/effect"
)

// Kind is the kind of a store's effects.
const Kind = "memory"

// The names of the effects.
const (
	OpRecall = "recall"
	OpRead   = "read"
	OpList   = "list"
	OpWrite  = "write"
	OpRemove = "remove"
	OpMove   = "move"
	OpAdd    = "add"
	OpCommit = "commit"
	OpStats  = "stats"
)

// asked is an effect's input.
type asked[In any] struct {
	Store string `json:"store"`
	In    In     `json:"in"`
}

// answered is what a journal keeps of an effect: an error keeps its kind.
type answered[Out any] struct {
	Out   Out    `json:"out"`
	Error *Error `json:"error,omitempty"`
}

// Settle implements [effect.Settler]: people give the result as it is.
func (a *answered[Out]) Settle(value json.RawMessage) error { return json.Unmarshal(value, &a.Out) }

// forJournal is an error as a replay will have it, so that the program sees the same now.
func forJournal(ctx context.Context, err error) *Error {
	var failed *Error
	if !errors.As(err, &failed) || !effect.Journaled(ctx) {
		return failed
	}
	data, err := json.Marshal(failed)
	again := &Error{}
	if err != nil || json.Unmarshal(data, again) != nil {
		return failed
	}
	return again
}

// operation is one of a store's effects.
type operation struct {
	name  string
	on    string // for errors
	class effect.Class
}

// do performs an operation as an effect. A failure of the store is a result like any other;
// one of ctx is not, for nobody knows then what was done.
func do[In, Out any](ctx context.Context, s *Store, op operation, in In, fn func(context.Context) (Out, error)) (Out, error) {
	call := effect.Call{Kind: Kind, Name: op.name, Input: asked[In]{s.opts.Name, in}, Class: op.class}
	got, err := effect.Do(ctx, call, func(ctx context.Context) (answered[Out], error) {
		out, err := fn(ctx)
		if err = s.fail(op.name, op.on, err); err != nil && ctx.Err() != nil {
			return answered[Out]{Out: out}, err
		}
		return answered[Out]{out, forJournal(ctx, err)}, nil
	})
	if err == nil && got.Error != nil {
		err = got.Error
	}
	return got.Out, err
}
