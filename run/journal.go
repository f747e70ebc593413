package run

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// ErrOver is returned for effects of a run that has ended or was stopped.
var ErrOver = errors.New("the run is over")

// journal answers effects from the record of a run, and records what is new. It is an
// [effect.Journal].
type journal struct {
	record *record
	put    func(store.Batch) store.Commit // nil: a replay, nothing is new
	full   bool                           // wait for the disk always
	broken bool                           // what is replayed did not succeed
	now    func() time.Time
	idle   idleness

	mu      sync.Mutex // also keeps events in the order of their numbers
	head    store.Head
	seen    map[store.Key]int // how often an effect came up, by its key without occurrence
	sent    map[session.Digest]bool
	batches flight // what is on its way to the disk
	over    error  // why nothing goes on

	unsettled []*store.Effect // mutating ones that were stopped: nobody knows whether they happened
}

func newJournal(rec *record, head store.Head, now func() time.Time) *journal {
	return &journal{record: rec, head: head, now: now, seen: map[store.Key]int{}, sent: map[session.Digest]bool{}}
}

// Begin implements [effect.Journal].
func (j *journal) Begin(ctx context.Context, path string, call effect.Call) (effect.Entry, error) {
	in, raw, err := newIntent(path, call)
	if err != nil {
		return nil, err
	}
	e := &entry{journal: j, ctx: ctx, call: call, intent: in, input: raw}
	if outer := enclosing(ctx); outer != nil {
		e.intent.Within = outer.id
	}
	commit, err := j.begin(e)
	switch {
	case errors.Is(err, errCutOff):
		return nil, j.cutOff(e)
	case err != nil:
		return nil, err
	case e.known != nil && (e.known.Done || j.put == nil):
		return e, e.recall(ctx)
	case commit != nil:
		// Not given up with ctx: an intent that was never acted upon would look like one whose
		// end nobody saw.
		return e, j.wait(context.WithoutCancel(ctx), commit)
	}
	return e, nil
}

// begin finds the effect in the record, or makes its intent known. The commit is nil
// where nobody must wait for it.
func (j *journal) begin(e *entry) (*landing, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over != nil {
		return nil, j.over
	}
	e.intent.Occurrence = j.seen[e.intent.KeyOf()]
	x, err := j.record.find(e.intent, e.input, j.put == nil)
	if err != nil && j.broken && j.record.pending(e.intent.Path) == nil {
		return nil, errCutOff
	}
	if err != nil {
		j.over = err // what follows would only blur it
		return nil, err
	}
	known := x != nil && (x.Done || j.put == nil)
	if !known && e.ctx.Err() != nil && !e.call.Instant {
		return nil, e.ctx.Err() // it has not begun: nobody must wonder whether it happened
	}
	j.seen[withoutOccurrence(e.intent)]++
	if x == nil && j.put == nil {
		return nil, ErrRecordEnds
	}
	if e.known = x; x != nil {
		j.record.use(x)
		j.idle.moved()
		if e.id = x.ID; known {
			return nil, nil
		}
		e.intent.Attempt = x.Attempts
	}
	e.begun = j.now()
	return j.intend(e)
}

// errCutOff marks an effect that a failed run did not come to: another branch's failure
// may have cut this one off before.
var errCutOff = errors.New("cut off")

// cutOff waits for that failure. If it does not come, the program diverged.
func (j *journal) cutOff(e *entry) error {
	if j.idle.wait(e.ctx) != nil {
		return e.ctx.Err()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, j.over = j.record.find(e.intent, e.input, true)
	return j.over
}

// intend records that an effect is about to happen.
func (j *journal) intend(e *entry) (*landing, error) {
	packed, objects, err := store.Pack(e.input)
	if err != nil {
		return nil, err
	}
	e.intent.Input = packed
	if e.call.Instant {
		e.objects = objects
		return nil, nil
	}
	lazy := j.lazy(e.call) && !e.call.Counted
	commit, err := j.append(store.EventIntent, e.intent, store.Batch{Objects: objects, Lazy: lazy})
	if e.known == nil {
		e.id = j.head.Seq
	}
	e.work = j.idle.enter(e.intent.Kind)
	if lazy {
		commit = nil
	}
	return commit, err
}

// lazy reports whether nobody waits until what is noted of a call is on disk.
func (j *journal) lazy(call effect.Call) bool { return call.Class != effect.Mutating && !j.full }

// append adds an event, and what goes with it, to the run. Only whoever holds mu calls
// it.
func (j *journal) append(kind string, body any, b store.Batch) (*landing, error) {
	e, err := j.head.Next(kind, j.now(), body)
	if err != nil {
		return nil, err
	}
	j.head = e.Head()
	b.Events = append(b.Events, e)
	b.Objects = j.unsent(b.Objects)
	l := j.batches.add(j.put(b))
	return l, nil
}

// wait waits for a batch. Its error is that of the first batch that failed.
func (j *journal) wait(ctx context.Context, l *landing) error {
	err := l.wait(ctx)
	if err == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.batches.cause(err)
}

// unsent leaves out the objects that went to the store already.
func (j *journal) unsent(objects [][]byte) (rest [][]byte) {
	for _, o := range objects {
		if d := digestOf(o); !j.sent[d] {
			j.sent[d] = true
			rest = append(rest, o)
		}
	}
	return rest
}

// note adds an event that is no effect, unless the run is over or a replay. Nobody waits
// for it.
func (j *journal) note(kind string, body any, sessions ...session.Session) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over != nil || j.put == nil {
		return j.over
	}
	_, err := j.append(kind, body, store.Batch{Sessions: sessions, Lazy: true})
	return err
}

// conclude adds the last event, whatever stopped the effects, and ends the journal.
func (j *journal) conclude(kind string, body any, b store.Batch) (*landing, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	commit, err := j.append(kind, body, b)
	j.over = ErrOver
	return commit, err
}

// stopped are the mutating effects that were stopped in their middle.
func (j *journal) stopped() []*store.Effect {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.unsettled
}

// stop ends the journal: effects that come later get err, unless it has ended before.
func (j *journal) stop(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over == nil {
		j.over = err
	}
}

// Knows implements [effect.Journal].
func (j *journal) Knows(path string, call effect.Call) bool {
	if j.record.empty() {
		return false
	}
	in, _, err := newIntent(path, call)
	if err != nil {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	in.Occurrence = j.seen[in.KeyOf()]
	x := j.record.byKey[in.KeyOf()]
	return x != nil && (x.Done || j.put == nil)
}

// newIntent describes a call, with the canonical JSON of its input.
func newIntent(path string, call effect.Call) (store.Intent, json.RawMessage, error) {
	raw, err := canonical(call.Input)
	in := store.Intent{
		Path: path, Kind: call.Kind, Name: call.Name, Class: call.Class.String(), Key: call.Key, Digest: digestOf(raw),
	}
	if err == nil && call.Note != nil {
		in.Note, err = canonical(call.Note)
	}
	return in, raw, err
}

func withoutOccurrence(i store.Intent) store.Key {
	i.Occurrence = 0
	return i.KeyOf()
}
