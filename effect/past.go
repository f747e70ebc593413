package effect

import (
	"context"
	"encoding/json"
	"iter"
)

// Past is what is on record of an effect.
type Past struct {
	Path     string
	Name     string
	Input    json.RawMessage
	Note     json.RawMessage // of the last attempt
	Attempts int             // how often it was begun
	Done     bool            // it has an outcome; each other attempt was lost
	Outcome  Outcome
}

// Historian is implemented by journals that can tell what was on record when they began.
type Historian interface {
	// Past yields the effects of a kind at a path and below it, in the order in which they
	// began.
	Past(path, kind string) iter.Seq2[Past, error]
}

// History yields what is on record of a kind of effect in ctx's scope and below it; nothing
// without a journal.
func History(ctx context.Context, kind string) iter.Seq2[Past, error] {
	if s := scopeOf(ctx); s != nil {
		if h, ok := s.journal.(Historian); ok {
			return h.Past(s.Path(), kind)
		}
	}
	return func(func(Past, error) bool) {}
}
