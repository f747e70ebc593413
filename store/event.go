package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/session"
)

// Event is one thing that happened in a run. Its hash covers all events before it.
type Event struct {
	Seq  int64           `json:"seq"` // from 1, without gaps
	Time time.Time       `json:"time"`
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"` // canonical JSON (RFC 8785)
	Hash session.Digest  `json:"hash"`
}

// The kinds of events. Other kinds may be kept.
const (
	EventCreated = "run.created"     // Created
	EventState   = "run.state"       // StateChange
	EventTrace   = "run.trace"       // Traced
	EventSession = "session"         // SessionMade
	EventIntent  = "effect.intent"   // Intent
	EventResult  = "effect.result"   // Result
	EventNoted   = "effect.noted"    // Noted
	EventSettled = "effect.settled"  // Settled
	EventAsked   = "interrupt.asked" // Interrupt
	EventDecided = "interrupt.decided"
)

// Head is the end of a run's chain of events. The zero Head is before the first.
type Head struct {
	Seq  int64          `json:"seq"`
	Hash session.Digest `json:"hash"`
}

// Next makes the event that follows. The time is kept to the microsecond; the body is
// made canonical. It fails if the body is no JSON.
func (h Head) Next(kind string, at time.Time, body any) (Event, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return Event{}, fmt.Errorf("encode the body of event %s: %w", kind, err)
	}
	canonical := jsontext.Value(raw)
	if err := canonical.Canonicalize(); err != nil {
		return Event{}, fmt.Errorf("encode the body of event %s: %w", kind, err)
	}
	e := Event{Seq: h.Seq + 1, Time: at.UTC().Truncate(time.Microsecond), Kind: kind, Body: json.RawMessage(canonical)}
	e.Hash = e.hash(h.Hash)
	return e, nil
}

// Head is the chain's end with the event on it.
func (e Event) Head() Head { return Head{e.Seq, e.Hash} }

// Follows reports whether the event is the one after h: its number, and its hash
// computed anew.
func (e Event) Follows(h Head) bool { return e.Seq == h.Seq+1 && e.Hash == e.hash(h.Hash) }

// hash is SHA-256(hash before || "seq time kind\n" || body), the time in microseconds
// since 1970: docs/formats/events.md.
func (e Event) hash(before session.Digest) session.Digest {
	b := make([]byte, 0, len(before)+64+len(e.Body))
	b = append(b, before[:]...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, e.Time.UnixMicro(), 10)
	b = append(b, ' ')
	b = append(b, e.Kind...)
	b = append(b, '\n')
	b = append(b, e.Body...)
	return sha256.Sum256(b)
}

// Batch is what is kept together, all or nothing. The zero Batch is nothing.
type Batch struct {
	Events   []Event           // they follow the run's last one
	Objects  [][]byte          // that the events refer to by their digests
	Sessions []session.Session // with their ancestors, as for PutSessions
	State    *StateChange      // the run's new state
	Lazy     bool              // nobody waits for it: a few milliseconds later will do
}

// Commit is a batch on its way to the disk. It gives one value: nil once it is there.
// Nobody needs to wait for it.
type Commit <-chan error

// Wait waits until the batch is on disk, or ctx ends.
func (c Commit) Wait(ctx context.Context) error {
	select {
	case err := <-c:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Journal keeps the events of runs.
type Journal interface {
	// Append keeps a batch of a run. Batches are kept in the order of the calls, and one
	// that fails makes those that follow it fail too, for their events do not follow the
	// last one kept. ErrFenced when the lease is lost. It does not wait for the disk.
	Append(ctx context.Context, l Lease, b Batch) Commit
	// Events yields a run's events after a number, 0 for all.
	Events(ctx context.Context, run session.ID, after int64) iter.Seq2[Event, error]
}
