package flow

import (
	"context"
	"iter"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/llm"
)

// asked is what a journal keeps of a model call: failures keep their type.
type asked struct {
	Reply    llm.Reply    `json:"reply"`
	Error    *llm.Error   `json:"error,omitempty"`
	Exceeded *BudgetError `json:"exceeded,omitempty"`
}

// ask has a model reply, as an effect, within the budget of ctx. It is ctx's model that is
// asked if there is one, see [llm.WithModel]. A reply may come with an error: what came of it
// until then. The deltas are shown, also those of a reply that is on record; show may be nil.
func ask(ctx context.Context, model llm.Model, req *llm.Request, show func(llm.Delta)) (llm.Reply, error) {
	model = llm.Override(ctx, model)
	call := effect.Call{Kind: "model", Name: model.String(), Input: req, Class: effect.ReadOnly}
	h, err := ledgerOf(ctx).reserve(ctx, &call, req)
	if err != nil {
		return llm.Reply{}, err
	}
	live := false
	out, err := effect.Do(ctx, call, func(ctx context.Context) (asked, error) {
		live = true
		return h.ask(ctx, model, req, show)
	})
	h.end()
	if !live && show != nil { // the reply comes from a journal
		for range watched(out.Reply.Deltas(), show) {
		}
	}
	switch {
	case err != nil:
	case out.Exceeded != nil:
		err = out.Exceeded
	case out.Error != nil:
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
