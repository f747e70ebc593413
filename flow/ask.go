package flow

import (
	"context"
	"errors"
	"iter"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/llm"
)

// asked is what a journal keeps of a model call: a failure of the model keeps its type.
type asked struct {
	Reply llm.Reply  `json:"reply"`
	Error *llm.Error `json:"error,omitempty"`
}

// ask has a model reply, as an effect. A reply may come with an error: what came of it until
// then. The deltas are shown, also those of a reply that is on record; show may be nil.
func ask(ctx context.Context, model llm.Model, req *llm.Request, show func(llm.Delta)) (llm.Reply, error) {
	live := false
	out, err := effect.Do(ctx, effect.Call{Kind: "model", Name: model.String(), Input: req, Class: effect.ReadOnly},
		func(ctx context.Context) (asked, error) {
			live = true
			reply, err := llm.Collect(watched(model.Stream(ctx, req), show))
			var failed *llm.Error
			if errors.As(err, &failed) && ctx.Err() == nil {
				return asked{reply, failed}, nil
			}
			return asked{Reply: reply}, err
		})
	if !live && show != nil { // the reply comes from a journal
		for range watched(out.Reply.Deltas(), show) {
		}
	}
	if err == nil && out.Error != nil {
		err = out.Error
	}
	return out.Reply, err
}

// watched passes deltas on and shows them.
func watched(deltas iter.Seq2[llm.Delta, error], show func(llm.Delta)) iter.Seq2[llm.Delta, error] {
	if show == nil {
		return deltas
	}
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range deltas {
			if err == nil {
				show(d)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}
