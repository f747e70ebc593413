package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// entry is an effect under way, or one that the record knows. It is an [effect.Entry].
type entry struct {
	journal *journal
	ctx     context.Context // the effect's, to see whether it was cancelled
	call    effect.Call
	intent  store.Intent
	input   json.RawMessage
	objects [][]byte // of an instant effect's input
	id      int64    // the number of its first intent
	begun   time.Time
	work    *work
	known   *store.Effect
	outcome *effect.Outcome // recorded
}

type enclosingKey struct{}

// enclosing is the effect that a context is within, nil if none.
func enclosing(ctx context.Context) *entry {
	e, _ := ctx.Value(enclosingKey{}).(*entry)
	return e
}

// Context implements [effect.Entry].
func (e *entry) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, enclosingKey{}, e)
}

// Recorded implements [effect.Entry].
func (e *entry) Recorded() (effect.Outcome, bool) {
	if e.outcome == nil {
		return effect.Outcome{}, false
	}
	return *e.outcome, true
}

// recall reads the recorded outcome.
func (e *entry) recall(ctx context.Context) error {
	x := e.known
	if !x.Done {
		return e.unfinished(ctx)
	}
	value, err := store.Unpack(x.Result.Value, e.journal.record.get)
	if err != nil {
		err = fmt.Errorf("read the record of effect %d: %w", x.ID, err)
		e.journal.stop(err)
		return err
	}
	e.outcome = &effect.Outcome{Value: value, Error: x.Result.Error, Settled: x.BySomebody()}
	return nil
}

// ErrRecordEnds is returned by a replay that comes to where the record ends.
var ErrRecordEnds = errors.New("the record ends here: the effect has no result")

// unfinished replays an effect that was stopped: it waits until the same stops it again.
func (e *entry) unfinished(ctx context.Context) error {
	if err := e.journal.idle.wait(ctx); err == nil {
		return fmt.Errorf("%s: %s %s: %w", e.intent.Path, e.intent.Kind, e.intent.Name, ErrRecordEnds)
	}
	value, err := store.Unpack(e.known.Result.Value, e.journal.record.get)
	e.outcome = &effect.Outcome{Value: value, Cause: ctx.Err()}
	return err
}

// maxResult is the most that an effect may give in a run, in bytes of JSON.
const maxResult = 48 << 20

// ErrTooLarge is recorded, and returned, for an effect that gave more than a run keeps.
var ErrTooLarge = errors.New("the result is too large to be kept")

// End implements [effect.Entry].
func (e *entry) End(ctx context.Context, out effect.Outcome) error {
	var tooLarge error
	if n := len(out.Value); n > maxResult {
		tooLarge = fmt.Errorf("%w: %d bytes, and %d are the most", ErrTooLarge, n, maxResult)
		out = effect.Outcome{Error: tooLarge.Error(), Cause: out.Cause}
	}
	commit, err := e.end(out)
	if err == nil && commit != nil {
		err = e.journal.wait(ctx, commit)
	}
	return cmp.Or(err, tooLarge)
}

func (e *entry) end(out effect.Outcome) (*landing, error) {
	value, objects, err := store.Pack(out.Value)
	if err != nil {
		return nil, err
	}
	j := e.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	j.idle.leave(e.work)
	if j.over != nil {
		return nil, j.over
	}
	lazy := j.lazy(e.call)
	b := store.Batch{Objects: objects, Lazy: lazy}
	if e.call.Instant {
		b.Objects = append(b.Objects, e.objects...)
		_, err := j.append(store.EventNoted, store.Noted{Intent: e.intent, Value: value, Error: out.Error}, b)
		return nil, err
	}
	cancelled := out.Cause != nil && e.ctx.Err() != nil
	switch {
	case cancelled && e.intent.Kind == kindInterrupt:
		return nil, nil // it stands, unanswered
	case cancelled && e.call.Class == effect.Mutating:
		j.unsettled = append(j.unsettled, &store.Effect{ID: e.id, Intent: e.intent})
	}
	commit, err := j.append(store.EventResult, store.Result{
		Effect: e.id, Value: value, Error: out.Error, TookUS: j.now().Sub(e.begun).Microseconds(), Cancelled: cancelled,
	}, b)
	if lazy {
		commit = nil
	}
	return commit, err
}

// canonical is the canonical JSON of an input, by which the effect is known again.
func canonical(input any) (json.RawMessage, error) {
	raw, err := effect.Encode(input)
	if err != nil {
		return nil, fmt.Errorf("encode the input of an effect: %w", err)
	}
	v := jsontext.Value(raw)
	if err := v.Canonicalize(); err != nil {
		return nil, fmt.Errorf("encode the input of an effect: %w", err)
	}
	return json.RawMessage(v), nil
}

func digestOf(data []byte) session.Digest { return sha256.Sum256(data) }
