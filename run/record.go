package run

import (
	"encoding/json"

	"github.com/openrath-go/rath/internal/telemetry"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// record is what is known of a run: the effects of its earlier executions. Its user
// guards it.
type record struct {
	list   []*store.Effect // in the order in which they began
	byKey  map[store.Key]*store.Effect
	byPath map[string][]*store.Effect
	inside map[int64][]*store.Effect // by the effect that they happened in
	used   map[*store.Effect]bool
	made   map[session.ID]bool // the sessions that are kept
	traced []telemetry.Place   // the earlier executions
	get    func(session.Digest) ([]byte, error)
}

func newRecord(effects []*store.Effect, get func(session.Digest) ([]byte, error)) *record {
	r := &record{
		list: effects, get: get, byKey: make(map[store.Key]*store.Effect, len(effects)),
		byPath: map[string][]*store.Effect{}, inside: map[int64][]*store.Effect{}, used: map[*store.Effect]bool{}, made: map[session.ID]bool{},
	}
	for _, x := range effects {
		r.byKey[x.KeyOf()] = x
		r.byPath[x.Path] = append(r.byPath[x.Path], x)
		if x.Within != 0 {
			r.inside[x.Within] = append(r.inside[x.Within], x)
		}
	}
	return r
}

// rounds counts the questions that were answered, by place and key.
func (r *record) rounds() map[string]int {
	rounds := map[string]int{}
	for _, x := range r.list {
		if x.Kind == kindInterrupt && x.Done {
			rounds[questionKey(x.Path, x.Name)]++
		}
	}
	return rounds
}

// find returns the recorded effect that an intent means, nil for a new one. Where the
// place has effects on record that the program did not come to, a new one is a
// divergence; in a replay it always is.
func (r *record) find(in store.Intent, input json.RawMessage, replay bool) (*store.Effect, error) {
	if x := r.byKey[in.KeyOf()]; x != nil {
		return x, nil
	}
	if in.Kind == kindSession {
		return nil, nil // a new session is named anew, whatever else happens
	}
	pending := r.pending(in.Path)
	if pending == nil && !replay {
		return nil, nil
	}
	return nil, r.diverged(in, input, pending)
}

// use marks an effect, and if its result stands for it those that happened within it:
// they will not be asked for.
func (r *record) use(x *store.Effect) {
	r.used[x] = true
	if x.Done {
		r.useInside(x)
	}
}

func (r *record) useInside(x *store.Effect) {
	for _, y := range r.inside[x.ID] {
		r.used[y] = true
		r.useInside(y)
	}
}

// pending is the first effect of a path that the program did not come to yet. The
// identities of sessions do not count: they may come in any order.
func (r *record) pending(path string) *store.Effect {
	list := r.byPath[path]
	for len(list) > 0 && (r.used[list[0]] || list[0].Kind == kindSession) {
		list = list[1:]
	}
	r.byPath[path] = list
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// left is the first effect that a program which has come to its end did not ask for.
func (r *record) left() *store.Effect {
	for _, x := range r.list {
		if !r.used[x] && x.Kind != kindSession && x.Done {
			return x
		}
	}
	return nil
}

const kindSession = "session"

// empty reports whether nothing is on record.
func (r *record) empty() bool { return len(r.byKey) == 0 }
