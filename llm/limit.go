package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
)

// Limit is a model that keeps to the limits of its provider: a request waits in Limiter's
// line until there is room for it. Tokens are reserved by an estimate before the request
// and corrected by what the server counted after it.
//
// Put it inside [Retry], so that each attempt waits in line. Around one, attempts are
// counted when they are seen, and it is too late to wait.
type Limit struct {
	Model    Model
	Limiter  *Limiter           // shared by all models of a provider; nil: no limit
	Estimate func(*Request) int // the tokens of a request and its reply; nil: EstimateTokens
}

// String names the inner model.
func (l *Limit) String() string { return l.Model.String() }

// Stream waits for room and asks the inner model. ctx ends the wait.
func (l *Limit) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	if l.Limiter == nil {
		return l.Model.Stream(ctx, req)
	}
	return func(yield func(Delta, error) bool) {
		reserved, err := l.Limiter.acquire(ctx, l.estimate(req))
		if err != nil {
			yield(Delta{}, AsError(l.String(), fmt.Errorf("wait for the provider's limit: %w", err)))
			return
		}
		used := reserved
		defer func() { l.Limiter.correct(used - reserved) }()
		for d, err := range l.Model.Stream(ctx, req) {
			used = l.Limiter.note(d, err, used)
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

func (l *Limit) estimate(req *Request) int {
	switch {
	case l.Limiter.Tokens <= 0:
		return 0 // nobody wants to know
	case l.Estimate != nil:
		return l.Estimate(req)
	}
	return EstimateTokens(req)
}

// note learns from a piece of the stream, and returns the tokens that are used as far as
// is known.
func (l *Limiter) note(d Delta, err error, used int) int {
	var e *Error
	switch {
	case errors.As(err, &e):
		l.pause(e.RetryAfter)
		if e.refused() {
			return 0
		}
	case d.Attempt != nil && d.Attempt.Error != nil:
		l.again(d.Attempt.Error.RetryAfter)
	case d.Usage != nil && d.Usage.Total() >= 0:
		return int(min(d.Usage.Total(), math.MaxInt32))
	}
	return used
}

// refused reports whether the server turned the request down before the model saw it.
func (e *Error) refused() bool {
	return e.Kind == ErrRateLimit || e.Kind == ErrAuth || e.Kind == ErrBadRequest
}
