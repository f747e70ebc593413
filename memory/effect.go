package memory

import (
	"context"
	"errors"
	"time"

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
		var failed *Error
		errors.As(err, &failed)
		return answered[Out]{out, failed}, nil
	})
	if err == nil && got.Error != nil {
		err = got.Error
	}
	return got.Out, err
}

// now is the time, from the journal where there is one.
func now(ctx context.Context) (time.Time, error) {
	t, err := effect.Now(ctx)
	return t.UTC(), err
}
