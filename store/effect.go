package store

import (
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/openrath-go/rath/session"
)

// Effect is what the events of a run tell of one effect.
type Effect struct {
	ID int64 `json:"id"` // the number of its first intent's event
	Intent
	Begun    time.Time `json:"begun"`
	Attempts int       `json:"attempts"`
	Done     bool      `json:"done"` // it has a result, its own or a settled one
	Result   Result    `json:"result,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Last     int64     `json:"last,omitempty"`    // the number of the event that ended it
	Settled  *Settled  `json:"settled,omitempty"` // the verdict on its last attempt
}

// BySomebody reports whether a person gave the result.
func (e *Effect) BySomebody() bool { return e.Settled != nil && e.Settled.Verdict == VerdictResult }

// Open reports whether the effect began, may have happened, and nobody knows.
func (e *Effect) Open() bool { return !e.Done && e.Settled == nil }

// Key names an effect within its run.
type Key struct {
	Path, Kind, Name string
	Digest           session.Digest
	Occurrence       int
}

// KeyOf returns the effect's name.
func (i Intent) KeyOf() Key { return Key{i.Path, i.Kind, i.Name, i.Digest, i.Occurrence} }

// Effects folds events into effects, in the order in which they began.
func Effects(events iter.Seq2[Event, error]) ([]*Effect, error) {
	f := fold{byID: map[int64]*Effect{}, byKey: map[Key]*Effect{}}
	for e, err := range events {
		if err == nil {
			err = f.add(e)
		}
		if err != nil {
			return f.list, err
		}
	}
	return f.list, nil
}

type fold struct {
	list  []*Effect
	byID  map[int64]*Effect
	byKey map[Key]*Effect
}

func (f *fold) add(e Event) error {
	switch e.Kind {
	case EventIntent:
		return f.intent(e)
	case EventResult:
		var r Result
		return f.of(e, &r, &r.Effect, func(x *Effect) {
			x.Done, x.Result, x.Ended, x.Last = !r.Cancelled, r, e.Time, e.Seq
		})
	case EventNoted:
		return f.noted(e)
	case EventSettled:
		var s Settled
		return f.of(e, &s, &s.Effect, func(x *Effect) {
			x.Settled = &s
			if s.Verdict == VerdictResult {
				x.Done, x.Ended, x.Last = true, e.Time, e.Seq
				x.Result = Result{Effect: s.Effect, Value: s.Value}
			}
		})
	}
	return nil
}

func (f *fold) intent(e Event) error {
	var i Intent
	if err := json.Unmarshal(e.Body, &i); err != nil {
		return fmt.Errorf("event %d: read %s: %w", e.Seq, e.Kind, err)
	}
	x := f.began(e, i)
	x.Attempts++
	x.Settled = nil // it was tried again since
	x.Note = i.Note
	return nil
}

func (f *fold) noted(e Event) error {
	var n Noted
	if err := json.Unmarshal(e.Body, &n); err != nil {
		return fmt.Errorf("event %d: read %s: %w", e.Seq, e.Kind, err)
	}
	x := f.began(e, n.Intent)
	x.Attempts, x.Done, x.Ended, x.Last = n.Attempt+1, true, e.Time, e.Seq
	x.Result = Result{Effect: x.ID, Value: n.Value, Error: n.Error}
	if n.Settled {
		x.Settled = &Settled{Effect: x.ID, Verdict: VerdictResult, Value: n.Value}
	}
	return nil
}

// began returns the effect of an intent, a new one if this is its first.
func (f *fold) began(e Event, i Intent) *Effect {
	x := f.byKey[i.KeyOf()]
	if x == nil {
		x = &Effect{ID: e.Seq, Intent: i, Begun: e.Time}
		f.byKey[i.KeyOf()], f.byID[e.Seq] = x, x
		f.list = append(f.list, x)
	}
	return x
}

// of reads an event about an effect and applies it.
func (f *fold) of(e Event, body any, id *int64, apply func(*Effect)) error {
	if err := json.Unmarshal(e.Body, body); err != nil {
		return fmt.Errorf("event %d: read %s: %w", e.Seq, e.Kind, err)
	}
	x := f.byID[*id]
	if x == nil {
		return fmt.Errorf("event %d: %s of effect %d, which never began: %w", e.Seq, e.Kind, *id, ErrDamaged)
	}
	apply(x)
	return nil
}
