package llm

import (
	"context"
	"errors"
	"iter"
	"strings"
)

// Fallback is a model that asks Models in order until one answers. It goes on to the next
// where the failure is one that another server may not have: rate limit, connection,
// timeout, 5xx; and never after the first piece of a reply, which somebody has seen.
//
// Each failure is yielded as a [Delta] with Attempt set, as [Retry] does, which belongs
// inside, around each model. The model that answered is named by the reply: its scheme and
// the name that the server gives it, "openai:gpt-5.5-2026-04-23", or its URL. If all fail,
// the error is that of the last.
type Fallback struct {
	Models []Model
}

// fallbackScheme begins the name of a Fallback.
const fallbackScheme = "fallback:"

// String returns the models' URLs in order, "fallback:openai:a,anthropic:b".
func (f *Fallback) String() string {
	names := make([]string, len(f.Models))
	for i, m := range f.Models {
		names[i] = m.String()
	}
	return fallbackScheme + strings.Join(names, ",")
}

// Stream asks one model after the other.
func (f *Fallback) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		if len(f.Models) == 0 {
			yield(Delta{}, &Error{Kind: ErrBadRequest, Model: f.String(), Message: "there is no model to fall back on"})
			return
		}
		failed := 0
		for i, m := range f.Models {
			t := &trial{model: m.String(), last: i == len(f.Models)-1, failed: failed, yield: yield}
			err := t.run(ctx, m.Stream(ctx, req))
			if err == nil {
				return
			}
			failed = t.failed + 1
			if !yield(Delta{Attempt: &Attempt{Number: failed, Error: err}}, nil) {
				return
			}
		}
	}
}

// trial is one model of a Fallback being asked.
type trial struct {
	model  string
	last   bool
	failed int // attempts so far, of all models
	yield  func(Delta, error) bool

	held  []Delta // what says nothing yet, and is forgotten if nothing follows
	begun bool
	named bool // a delta has the model's name
}

// run passes a stream on. It returns the error for which the next model is to be asked.
func (t *trial) run(ctx context.Context, deltas iter.Seq2[Delta, error]) *Error {
	for d, err := range deltas {
		var e *Error
		if !t.begun && !t.last && errors.As(err, &e) && e.Retryable() && ctx.Err() == nil {
			return e
		}
		if err != nil {
			if t.release() {
				t.yield(d, err)
			}
			return nil
		}
		if !t.pass(d) {
			return nil
		}
	}
	t.release()
	return nil
}

// pass yields a delta, unless it is one that can wait.
func (t *trial) pass(d Delta) bool {
	switch {
	case d.Attempt != nil:
		t.failed++
		a := *d.Attempt
		a.Number, d.Attempt = t.failed, &a
		return t.yield(d, nil)
	case d.Model != "":
		d.Model, t.named = t.answered(d.Model), true
	}
	if !t.begun && !d.says() {
		t.held = append(t.held, d)
		return true
	}
	if !t.named {
		d.Model, t.named = t.model, true
	}
	t.begun = true
	return t.release() && t.yield(d, nil)
}

// release yields what was held.
func (t *trial) release() bool {
	held := t.held
	t.held = nil
	for _, d := range held {
		if !t.yield(d, nil) {
			return false
		}
	}
	return true
}

// answered is the URL of a model that a server names.
func (t *trial) answered(name string) string {
	if strings.HasPrefix(t.model, fallbackScheme) {
		return name // one within has made a URL of it
	}
	scheme, _, _ := strings.Cut(t.model, ":")
	return scheme + ":" + name
}

// says reports whether a delta has something of the reply.
func (d Delta) says() bool {
	return d.Text != "" || d.Reasoning != "" || d.Extra != "" || d.Part != nil || d.Call != nil || d.Stop != ""
}
