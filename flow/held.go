package flow

import (
	"context"
	"errors"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/internal/telemetry"
	"github.com/openrath-go/rath/llm"
)

// held is what a budget holds for a model call. The zero held is that of a call without a
// budget, or of one that is on record.
type held struct {
	ledger  *ledger // nil once it is settled
	aside   Aside
	refused error // why nothing is held: the budget's, which becomes the result, or ctx's
}

// charge is the note of a call: what was set aside for it, and by which budgets.
type charge struct {
	Aside   Aside    `json:"aside"`
	Budgets []string `json:"budgets"`
}

// reserve sets aside what a call may take, before the call is on record: what waits for the
// budget has cost nothing, whatever becomes of its process. What is answered from a record
// takes nothing.
func (l *ledger) reserve(ctx context.Context, call *effect.Call, req *llm.Request) (held, error) {
	if l == nil || effect.Known(ctx, *call) {
		return held{}, nil
	}
	aside, err := l.estimate(call.Name, req)
	if err != nil {
		return held{}, err
	}
	if err := l.acquire(ctx, aside); err != nil {
		return held{refused: err}, nil
	}
	call.Note, call.Counted = charge{aside, l.names()}, true
	return held{ledger: l, aside: aside}, nil
}

// ask has the model reply, and settles what it took.
func (h *held) ask(ctx context.Context, model llm.Model, req *llm.Request, show func(llm.Delta)) (asked, error) {
	if h.refused != nil {
		return exceeding(asked{}, h.refused)
	}
	ctx, cancel := h.ledger.within(ctx)
	defer cancel()
	ctx, chat := telemetry.StartChat(ctx, model, req)
	reply, err := llm.Collect(chat.Watch(watched(model.Stream(ctx, req), show)))
	chat.End(reply, err)
	h.ledger.settle(h.aside, model.String(), reply, err != nil)
	h.ledger = nil
	var failed *llm.Error
	switch {
	case err != nil && ctx.Err() != nil:
		return exceeding(asked{Reply: reply}, errors.Join(err, context.Cause(ctx)))
	case errors.As(err, &failed):
		return asked{Reply: reply, Error: failed}, nil
	}
	return asked{Reply: reply}, err
}

// end gives back what was set aside for a call that was not made after all.
func (h *held) end() { h.ledger.giveBack(h.aside) }

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
