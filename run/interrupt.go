package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// asked numbers the questions of a run: a place may ask with the same key again, once it
// was answered.
type asked struct {
	mu     sync.Mutex
	rounds map[string]int
	last   chan struct{} // closed when the last question here is through; nil: there was none
}

// here queues for the runner's own decider: it is asked one question at a time, in their
// order. Who has waited for before closes done.
func (a *asked) here() (before <-chan struct{}, done chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last != nil {
		before = a.last
	}
	done = make(chan struct{})
	a.last = done
	return before, done
}

func questionKey(path, key string) string {
	if path == "" {
		return key
	}
	return path + "/" + key
}

// key names a question within the run: place, key, and the round if it is not the first.
func (a *asked) key(q flow.Question) string {
	name := q.Key
	if name == "" {
		name = string(q.Kind)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	place := questionKey(q.Path, q.Key)
	a.rounds[place]++
	if n := a.rounds[place]; n > 1 {
		return fmt.Sprintf("%s#%d", questionKey(q.Path, name), n)
	}
	return questionKey(q.Path, name)
}

// decided is the body of the event that tells of an answer.
type decided struct {
	Key      string          `json:"key"`
	Decision json.RawMessage `json:"decision"`
	By       string          `json:"by,omitempty"`
}

// decide is the [flow.Decider] of a run: it keeps the question and waits until somebody
// has answered it, here or in another process.
func (h *Handle) decide(ctx context.Context, q flow.Question) (flow.Decision, error) {
	i, err := h.ask(ctx, q)
	if err != nil {
		return flow.Decision{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := h.askHere(ctx, q, i)
	q.Asked()
	defer h.journal.idle.rest(waiting(ctx))()
	go h.putDownWhenIdle(ctx, i.Key)
	for {
		answer, err := h.answer(ctx, i.Key)
		switch {
		case err != nil:
			return flow.Decision{}, err
		case !answer.Decided.IsZero():
			return h.accept(answer)
		case !answer.Open(h.runner.opts.Now()):
			return flow.Decision{}, flow.ErrExpired
		}
		if err := sleepOr(ctx, pollEvery, answered); err != nil {
			return flow.Decision{}, err
		}
	}
}

// waiting are the effects that a question is asked within, if they can be put down with
// it. A mutating one cannot: what it has done already would be done again.
func waiting(ctx context.Context) (all []*work) {
	for e := enclosing(ctx); e != nil; e = enclosing(e.ctx) {
		switch {
		case e.work == nil:
		case e.call.Class == effect.Mutating:
			return nil
		default:
			all = append(all, e.work)
		}
	}
	return all
}

// ask keeps the question.
func (h *Handle) ask(ctx context.Context, q flow.Question) (store.Interrupt, error) {
	now := h.runner.opts.Now()
	i := store.Interrupt{Run: h.run.ID, Key: h.asked.key(q), Kind: string(q.Kind), Asked: now}
	if q.Within > 0 {
		i.Expires = now.Add(q.Within)
	}
	var err error
	if i.Request, err = json.Marshal(q.Request); err != nil {
		return i, fmt.Errorf("ask %s: %w", i.Key, err)
	}
	if err := h.runner.store.Ask(ctx, i); err != nil {
		return i, fmt.Errorf("ask %s: %w", i.Key, err)
	}
	return i, h.journal.note(store.EventAsked, i)
}

// askHere asks the runner's own decider, beside the store, and tells when it has answered.
func (h *Handle) askHere(ctx context.Context, q flow.Question, i store.Interrupt) (answered <-chan struct{}) {
	decide := h.runner.opts.Decide
	if decide == nil {
		return nil
	}
	h.journal.idle.busy.Add(1) // who is being asked is not to be left alone
	before, done := h.asked.here()
	go func() {
		defer h.journal.idle.busy.Add(-1)
		defer close(done)
		if before != nil {
			<-before // it ends with its question
		}
		d, err := decide(ctx, q)
		if err == nil {
			err = h.runner.Decide(ctx, h.run.ID, i.Key, d)
		}
		switch {
		case err == nil, errors.Is(err, ErrLater), errors.Is(err, store.ErrDecided), ctx.Err() != nil:
		default:
			h.cancel(fmt.Errorf("decide %s: %w", i.Key, err))
		}
	}()
	return done
}

// putDownWhenIdle stops the run when it does nothing but wait for decisions.
func (h *Handle) putDownWhenIdle(ctx context.Context, key string) {
	patience := h.runner.opts.Patience
	if patience < 0 || sleep(ctx, patience) != nil || h.journal.idle.wait(ctx) != nil {
		return
	}
	if i, err := h.answer(ctx, key); err == nil && i.Open(h.runner.opts.Now()) {
		h.cancel(ErrWaiting)
	}
}

// answer reads the question as it stands.
func (h *Handle) answer(ctx context.Context, key string) (store.Interrupt, error) {
	for i, err := range h.runner.store.Interrupts(ctx, h.run.ID) {
		if err != nil {
			return i, err
		}
		if i.Key == key {
			return i, nil
		}
	}
	return store.Interrupt{}, fmt.Errorf("interrupt %s: %w", key, store.ErrNotFound)
}

func (h *Handle) accept(i store.Interrupt) (flow.Decision, error) {
	var d flow.Decision
	if err := json.Unmarshal(i.Decision, &d); err != nil {
		return d, fmt.Errorf("read the decision of %s: %w", i.Key, err)
	}
	if d.By == "" {
		d.By = i.By
	}
	return d, h.journal.note(store.EventDecided, decided{i.Key, i.Decision, i.By})
}

// Decide answers a question of a run, once. A run that was put down goes on when it is
// resumed. ErrNotFound, ErrDecided.
func (r *Runner) Decide(ctx context.Context, run session.ID, key string, d flow.Decision) error {
	if err := d.Check(); err != nil {
		return err
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return r.store.Decide(ctx, run, key, raw, d.By)
}
