package store

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/openrath-go/rath/session"
)

// Interrupt is a question that a run has for somebody.
type Interrupt struct {
	Run      session.ID      `json:"run"`
	Key      string          `json:"key"` // names it within the run
	Kind     string          `json:"kind"`
	Request  json.RawMessage `json:"request"`
	Asked    time.Time       `json:"asked"`
	Expires  time.Time       `json:"expires,omitzero"` // zero: never
	Decision json.RawMessage `json:"decision,omitempty"`
	Decided  time.Time       `json:"decided,omitzero"`
	By       string          `json:"by,omitempty"`
}

// Open reports whether the question is unanswered and still stands.
func (i Interrupt) Open(now time.Time) bool {
	return i.Decided.IsZero() && (i.Expires.IsZero() || now.Before(i.Expires))
}

// Interrupts keeps questions and their answers. They lie beside the events, because who
// answers does not drive the run; the run notes both as events when it sees them.
type Interrupts interface {
	// Ask keeps a question. One that is kept under the key already is left as it is.
	Ask(ctx context.Context, i Interrupt) error
	// Decide answers a question, once. ErrNotFound, ErrDecided, ErrExpired.
	Decide(ctx context.Context, run session.ID, key string, decision json.RawMessage, by string) error
	// Interrupts yields the questions of a run, or of all runs for the zero id, in the
	// order in which they were asked.
	Interrupts(ctx context.Context, run session.ID) iter.Seq2[Interrupt, error]
}
