package llm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/openrath-go/rath/session"
)

// CacheStore keeps replies. It must be safe for concurrent use. What it cannot read or
// write it treats as not there: a cache that fails only costs money.
type CacheStore interface {
	// Get returns the reply of a request, if it is there.
	Get(ctx context.Context, key session.Digest) (Reply, bool)
	// Put keeps a reply, or not.
	Put(ctx context.Context, key session.Digest, r Reply)
}

// Cache is a model that answers a request as it was answered before. The key is the model's
// name, the digests of the prompt and the messages, the tools and the settings. Models of
// one name behind different servers are not told apart: give them stores of their own.
//
// Only whole replies are kept, not those that were cut off by length or a filter. A reply
// that comes from the cache has Cached set and no usage. Equal requests at the same time
// are one: the first streams, the others get its reply when it is whole, or its error; if
// the first is given up, the next one asks.
type Cache struct {
	Model Model
	Store CacheStore // nil: a MemoryCache of its own
	// Sampled also answers requests with a temperature above zero, which ask for variety,
	// from the cache. A request that sets no temperature asks for none.
	Sampled bool

	memory  MemoryCache
	mu      sync.Mutex
	flights map[session.Digest]*flight
}

// flight is a request under way.
type flight struct {
	done  chan struct{} // closed when the rest is set
	over  bool          // there is a reply or an error
	reply Reply
	err   error
}

// String names the inner model.
func (c *Cache) String() string { return c.Model.String() }

// Stream yields the reply that is known, or asks the inner model.
func (c *Cache) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	if t := req.Params.Temperature; t != nil && *t > 0 && !c.Sampled {
		return c.Model.Stream(ctx, req)
	}
	return func(yield func(Delta, error) bool) {
		key, err := c.key(req)
		if err != nil {
			yield(Delta{}, &Error{Kind: ErrBadRequest, Model: c.String(), Message: "encode the request", Err: err})
			return
		}
		for ctx.Err() == nil {
			f, first := c.join(key)
			if first {
				c.lead(ctx, key, f, req, yield)
				return
			}
			select {
			case <-f.done:
			case <-ctx.Done():
			}
			if f.landed() {
				f.deltas()(yield)
				return
			}
		}
		yield(Delta{}, AsError(c.String(), ctx.Err()))
	}
}

// key identifies a request to a model.
func (c *Cache) key(req *Request) (key session.Digest, err error) {
	data, err := json.Marshal(req)
	if err != nil {
		return key, err
	}
	h := sha256.New()
	_, _ = io.WriteString(h, c.String()+"\n") // a hash takes everything
	_, _ = h.Write(data)
	return session.Digest(h.Sum(nil)), nil
}

// join returns the flight of a key. It is new to whoever is the first.
func (c *Cache) join(key session.Digest) (f *flight, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[key]; f != nil {
		return f, false
	}
	if c.flights == nil {
		c.flights = map[session.Digest]*flight{}
	}
	f = &flight{done: make(chan struct{})}
	c.flights[key] = f
	return f, true
}

// lead answers the first of equal requests.
func (c *Cache) lead(ctx context.Context, key session.Digest, f *flight, req *Request, yield func(Delta, error) bool) {
	if f.reply, f.over = c.store().Get(ctx, key); f.over {
		c.land(key, f)
		f.deltas()(yield)
		return
	}
	defer c.land(key, f) // also if the reader panics
	f.reply, f.err = pass(c.Model.Stream(ctx, req), yield)
	if errors.Is(f.err, errLeft) || ctx.Err() != nil {
		return // the reader's own doing, and no answer for others
	}
	f.over = true
	if f.err == nil && (f.reply.Stop == StopEnd || f.reply.Stop == StopCalls) {
		c.store().Put(ctx, key, f.reply)
	}
}

// land lets those know who wait.
func (c *Cache) land(key session.Digest, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.flights, key)
	close(f.done)
}

func (c *Cache) store() CacheStore {
	if c.Store != nil {
		return c.Store
	}
	return &c.memory
}

// errLeft says that the reader left before the end.
var errLeft = errors.New("the reader left")

// pass yields a stream and collects it on the way.
func pass(deltas iter.Seq2[Delta, error], yield func(Delta, error) bool) (Reply, error) {
	left := false
	r, err := Collect(func(collect func(Delta, error) bool) {
		for d, err := range deltas {
			left = !yield(d, err) && err == nil // an error ends it anyway
			if left || !collect(d, err) {
				return
			}
		}
	})
	if left {
		return r, errLeft
	}
	return r, err
}

// landed reports whether there is something for those who wait.
func (f *flight) landed() bool {
	select {
	case <-f.done:
		return f.over
	default:
		return false
	}
}

// deltas are what those get who did not ask the model.
func (f *flight) deltas() iter.Seq2[Delta, error] {
	if f.err != nil {
		return func(yield func(Delta, error) bool) { yield(Delta{}, f.err) }
	}
	r := f.reply
	r.Cached, r.Usage, r.Attempts = true, session.Usage{}, nil
	return r.Deltas()
}
