package flow

import (
	"context"
	"errors"
	"iter"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/internal/telemetry"
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
	l := ledgerOf(ctx)
	call := effect.Call{Kind: "model", Name: model.String(), Input: req, Class: effect.ReadOnly}
	var aside Aside
	if l != nil {
		var err error
		if aside, err = l.estimate(call.Name, req); err != nil {
			return llm.Reply{}, err
		}
		call.Note, call.Counted = charge{aside, l.names()}, true
	}
	live := false
	out, err := effect.Do(ctx, call, func(ctx context.Context) (asked, error) {
		live = true
		return askWithin(ctx, l, aside, model, req, show)
	})
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

func askWithin(ctx context.Context, l *ledger, aside Aside, model llm.Model, req *llm.Request, show func(llm.Delta)) (asked, error) {
	if err := l.acquire(ctx, aside); err != nil {
		return exceeding(asked{}, err)
	}
	ctx, cancel := l.within(ctx)
	defer cancel()
	ctx, chat := telemetry.StartChat(ctx, model, req)
	reply, err := llm.Collect(chat.Watch(watched(model.Stream(ctx, req), show)))
	chat.End(reply, err)
	l.settle(aside, model.String(), reply, err != nil)
	var failed *llm.Error
	switch {
	case err != nil && ctx.Err() != nil:
		return exceeding(asked{Reply: reply}, errors.Join(err, context.Cause(ctx)))
	case errors.As(err, &failed):
		return asked{Reply: reply, Error: failed}, nil
	}
	return asked{Reply: reply}, err
}

// exceeding makes the error of a budget a result.
func exceeding(out asked, err error) (asked, error) {
	var late overdue
	if errors.As(err, &late) {
		out.Exceeded, err = late.spent(), nil
	} else if errors.As(err, &out.Exceeded) {
		err = nil
	}
	return out, err
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
