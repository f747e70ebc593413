package opensandbox

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lease is how long the sandbox has. What counts is how much time goes by: the server's
// clock may be off.
type lease struct {
	expires time.Time     // by the server's clock; zero: never
	life    time.Duration // that a renewal gives it
	since   time.Time     // when it had that much, by this machine's clock
}

// left returns how long the sandbox lives on.
func (l *lease) left() time.Duration { return l.life - time.Since(l.since) }

// extended is when the sandbox would expire if it were renewed now.
func (l *lease) extended() time.Time { return l.expires.Add(time.Since(l.since)) }

func (l *lease) renewed(expires time.Time) { l.expires, l.since = expires, time.Now() }

// granted is the lease of a sandbox that was asked for at a time.
func granted(info Info, asked time.Time) *lease {
	return &lease{info.ExpiresAt, info.ExpiresAt.Sub(info.CreatedAt), asked}
}

// takenUp is the lease of a sandbox that others have made: how long it has left shows only
// when it is renewed, which may fail because it has more.
func (b *box) takenUp(ctx context.Context) *lease {
	l := &lease{b.info.ExpiresAt, b.opts.Timeout, time.Now()}
	if l.life <= 0 {
		l.life = defaultTimeout
	}
	if until, err := b.client.Renew(ctx, b.id, time.Now().Add(l.life)); err == nil {
		l.expires = until
	}
	return l
}

// renew keeps the sandbox alive until b.stop is called.
func (b *box) renew(l *lease) {
	if l.expires.IsZero() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { b.renewing(ctx, l) })
	b.stop = func() {
		cancel()
		done.Wait()
	}
}

// renewing renews when a third of the time that is left has passed, so that a renewal
// which fails is tried again, sooner and sooner. It ends with the sandbox; whoever uses
// that is told.
func (b *box) renewing(ctx context.Context, l *lease) {
	for sleep(ctx, max(l.left()/3, l.life/20)) == nil {
		until, err := b.client.Renew(ctx, b.id, l.extended())
		if err == nil {
			l.renewed(until)
			continue
		}
		info, err := b.client.Get(ctx, b.id)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && info.Status.over():
			return
		case err == nil && info.ExpiresAt.After(l.expires): // somebody else has renewed it
			l.renewed(info.ExpiresAt)
		}
	}
}
