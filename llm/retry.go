package llm

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Retry is a model that asks again when the inner one fails in a way that may pass: rate
// limit, connection, timeout, 5xx. It never does after the first piece of a reply, which
// somebody has seen. Each failed attempt is yielded as a [Delta] with Attempt set.
//
// The waits double from Base to Max with jitter; a server's Retry-After is honoured in
// full, unless it is longer than MaxRetryAfter or ctx would end before: then the error
// is returned at once, and names it.
type Retry struct {
	Model         Model
	Attempts      int           // in all; 0: 4
	Base          time.Duration // 0: 500 ms
	Max           time.Duration // 0: 30 s
	MaxRetryAfter time.Duration // 0: 1 minute
}

// String names the inner model.
func (r *Retry) String() string { return r.Model.String() }

// Stream asks until a reply begins or the attempts are used up.
func (r *Retry) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		p := newPatience(r.Attempts, r.Base, r.Max, r.MaxRetryAfter)
		for {
			err, over := r.attempt(ctx, req, yield)
			if over {
				return
			}
			pause, last := p.next(ctx, err)
			if last != nil {
				yield(Delta{}, last)
				return
			}
			if !yield(Delta{Attempt: &Attempt{Number: p.failed, Error: err, Wait: pause}}, nil) {
				return
			}
			if wait(ctx, pause) != nil {
				yield(Delta{}, AsError(r.String(), ctx.Err()))
				return
			}
		}
	}
}

// attempt streams once. It is over unless the model failed before its first delta in a
// way that may pass; then err is set.
func (r *Retry) attempt(ctx context.Context, req *Request, yield func(Delta, error) bool) (err *Error, over bool) {
	begun := false
	for d, e := range r.Model.Stream(ctx, req) {
		if e != nil && !begun && errors.As(e, &err) && err.Retryable() && ctx.Err() == nil {
			return err, false
		}
		begun = begun || d.Attempt == nil // what a model within says of its failures is no content
		if !yield(d, e) || e != nil {
			return nil, true
		}
	}
	return nil, true
}

// patience is how often, and after what waits, a request is made again.
type patience struct {
	attempts      int
	failed        int // so far
	maxRetryAfter time.Duration
	waits         *backoff.ExponentialBackOff
}

// newPatience takes zeros for the defaults that Retry names.
func newPatience(attempts int, base, longest, maxRetryAfter time.Duration) *patience {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval = cmp.Or(base, 500*time.Millisecond)
	waits.MaxInterval = cmp.Or(longest, 30*time.Second)
	waits.Multiplier = 2
	return &patience{cmp.Or(attempts, 4), 0, cmp.Or(maxRetryAfter, time.Minute), waits}
}

// next returns how long to wait after a failure, or the error to give up with.
func (p *patience) next(ctx context.Context, err *Error) (pause time.Duration, last *Error) {
	p.failed++
	pause = max(p.waits.NextBackOff(), err.RetryAfter)
	switch {
	case p.failed >= p.attempts:
		return 0, err
	case err.RetryAfter > p.maxRetryAfter || !fits(ctx, pause):
		return 0, notWaited(err)
	}
	return pause, nil
}

// notWaited names the wait that a server asks for in the error's message.
func notWaited(err *Error) *Error {
	if err.RetryAfter == 0 {
		return err
	}
	e := *err
	if e.Message == "" && e.Err != nil {
		e.Message = e.Err.Error()
	}
	asked := "the server asks to wait " + e.RetryAfter.Round(time.Millisecond).String()
	e.Message = strings.TrimPrefix(e.Message+"; "+asked, "; ")
	return &e
}

func fits(ctx context.Context, pause time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > pause
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
