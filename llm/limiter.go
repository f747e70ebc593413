package llm

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter is what one account may ask a provider for. Each limit is a bucket that holds a
// minute's worth and is refilled all the time, as the providers' own are. Requests are let
// through in the order in which they came, so that a large one is not overtaken for ever by
// small ones; one that is larger than a bucket waits for a full one.
//
// When a server says with an error how long to wait, everybody does. Set the fields before
// the first use; then a Limiter is safe for concurrent use. The zero Limiter has no limits,
// and still makes everybody wait when the server asks for it. It must not be copied.
type Limiter struct {
	Requests      int           // a minute; 0: as many as you like
	Tokens        int           // a minute, prompts and replies together; 0: as many as you like
	MaxRetryAfter time.Duration // how long one error stops everybody at most; 0: 1 minute

	once     sync.Once
	turn     chan struct{} // is full while somebody is first in line
	changed  chan struct{} // tells who is first that there may be room
	requests *rate.Limiter // nil: no limit
	tokens   *rate.Limiter

	mu    sync.Mutex
	until time.Time // nothing goes out before
}

func (l *Limiter) init() {
	l.once.Do(func() {
		l.turn, l.changed = make(chan struct{}, 1), make(chan struct{}, 1)
		l.requests, l.tokens = aMinute(l.Requests), aMinute(l.Tokens)
	})
}

func aMinute(n int) *rate.Limiter {
	if n <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), n)
}

// acquire waits in line for one request of so many tokens, and returns how many of them
// are reserved.
func (l *Limiter) acquire(ctx context.Context, tokens int) (reserved int, err error) {
	l.init()
	select {
	case l.turn <- struct{}{}: // senders are served in order
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-l.turn }()
	if l.tokens != nil {
		tokens = max(0, min(tokens, l.tokens.Burst()))
	}
	for ctx.Err() == nil {
		pause := l.take(tokens)
		if pause <= 0 {
			return tokens, nil
		}
		l.sleep(ctx, pause)
	}
	return 0, ctx.Err()
}

// take takes a request and its tokens, or returns how long it will be until they are there.
func (l *Limiter) take(tokens int) (pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	pause = max(l.until.Sub(now), lacks(l.requests, now, 1), lacks(l.tokens, now, tokens))
	if pause <= 0 {
		draw(l.requests, now, 1)
		draw(l.tokens, now, tokens)
	}
	return pause
}

// lacks returns how long it takes until a bucket has n.
func lacks(bucket *rate.Limiter, now time.Time, n int) time.Duration {
	if bucket == nil {
		return 0
	}
	missing := float64(n) - bucket.TokensAt(now)
	return time.Duration(math.Ceil(missing / float64(bucket.Limit()) * float64(time.Second)))
}

// mostMinutes is how deep a bucket can be in debt. No reply is as long: it would be a
// server that cannot count.
const mostMinutes = 60

// draw takes n out of a bucket even if they are not there, and puts them in if n is
// negative. What does not fit in runs over.
func draw(bucket *rate.Limiter, now time.Time, n int) {
	if bucket == nil {
		return
	}
	burst := bucket.Burst()
	for i := 0; i < mostMinutes && n > burst; i++ { // more than a bucket cannot be drawn at once
		bucket.ReserveN(now, burst)
		n -= burst
	}
	bucket.ReserveN(now, min(n, burst))
}

// sleep waits until something may have changed.
func (l *Limiter) sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.changed:
	case <-ctx.Done():
	}
}

// correct takes tokens that were used beyond a reservation, or gives back what was not.
func (l *Limiter) correct(n int) {
	l.mu.Lock()
	draw(l.tokens, time.Now(), n)
	l.mu.Unlock()
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// again counts a request that was made once more without waiting in line.
func (l *Limiter) again(after time.Duration) {
	l.pause(after)
	l.mu.Lock()
	defer l.mu.Unlock()
	draw(l.requests, time.Now(), 1)
}

// pause makes everybody wait.
func (l *Limiter) pause(after time.Duration) {
	until := time.Now().Add(min(after, cmp.Or(l.MaxRetryAfter, time.Minute)))
	l.mu.Lock()
	defer l.mu.Unlock()
	if after > 0 && until.After(l.until) {
		l.until = until
	}
}

// Limiters has the limiters of a process by key: the name of a provider, say, or of one's
// account there. The zero value has none yet. It is safe for concurrent use.
type Limiters struct {
	mu    sync.Mutex
	known map[string]*Limiter
}

// Of returns the limiter of a key. Whoever asks first says what its limits are.
func (s *Limiters) Of(key string, requests, tokens int) *Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]*Limiter{}
	}
	if s.known[key] == nil {
		s.known[key] = &Limiter{Requests: requests, Tokens: tokens}
	}
	return s.known[key]
}
