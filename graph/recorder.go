package graph

import (
	"context"
	"slices"
	"sync"

	"github.com/openrath-go/rath/session"
)

// Recorder keeps the sessions that a piece of work visits, in the order of the visits.
// It keeps their heads alone, so that it holds no content. The zero Recorder is ready to
// use and safe for concurrent use.
//
//	var rec graph.Recorder
//	ctx = graph.WithRecorder(ctx, &rec)
type Recorder struct {
	mu    sync.Mutex
	heads []session.Head
	index map[session.ID]int
}

// Add visits sessions. A session that was visited before keeps its place; the empty
// session is not visited.
func (r *Recorder) Add(sessions ...session.Session) {
	for _, s := range sessions {
		if !s.ID().IsZero() {
			r.add(s.Head())
		}
	}
}

func (r *Recorder) add(h session.Head) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i, ok := r.index[h.ID]; ok {
		r.heads[i] = h // as far as it has got
		return
	}
	if r.index == nil {
		r.index = map[session.ID]int{}
	}
	r.index[h.ID] = len(r.heads)
	r.heads = append(r.heads, h)
}

// Visits returns the sessions in the order in which they were visited first.
func (r *Recorder) Visits() []session.Head {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.heads)
}

// Graph returns the graph of the sessions so far. What they come from and was not
// visited is absent.
func (r *Recorder) Graph() *Graph {
	b := builder{index: map[session.ID]int32{}}
	for _, h := range r.Visits() {
		b.add(h)
	}
	b.linkLineage()
	return b.graph()
}

// scope is who records the work of a context.
type scope struct {
	all []*Recorder
	on  []*Recorder // of them
}

type scopeKey struct{}

func scopeOf(ctx context.Context) scope {
	s, _ := ctx.Value(scopeKey{}).(scope)
	return s
}

// WithRecorder returns a context whose sessions r records, and the recorders already
// there as well, unless they are switched off.
func WithRecorder(ctx context.Context, r *Recorder) context.Context {
	s := scopeOf(ctx)
	return context.WithValue(ctx, scopeKey{}, scope{append(slices.Clip(s.all), r), append(slices.Clip(s.on), r)})
}

// Off returns a context in which nothing is recorded, as under torch.no_grad.
func Off(ctx context.Context) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope{all: scopeOf(ctx).all})
}

// On returns a context in which all its recorders record again.
func On(ctx context.Context) context.Context {
	all := scopeOf(ctx).all
	return context.WithValue(ctx, scopeKey{}, scope{all, all})
}

// Recording reports whether sessions of ctx are recorded.
func Recording(ctx context.Context) bool { return len(scopeOf(ctx).on) > 0 }

// Record tells the recorders of ctx, if there are any, that sessions were visited.
func Record(ctx context.Context, sessions ...session.Session) {
	for _, r := range scopeOf(ctx).on {
		r.Add(sessions...)
	}
}
