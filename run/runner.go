// Package run drives workflows durably: every effect of a run is kept in a store as it
// happens, so that a run survives its process, is resumed where it stopped, replayed
// with nothing live, and rerun from any of its effects. User code is plain Go over
// package flow and does not change.
//
// What a program does between its effects must follow from its input and from their
// results: time, chance and identities come from package effect and from sessions,
// everything else goes through [effect.Do].
//
// Next: [github.com/openrath-go/rath/store], where the record is kept.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// Runner starts and resumes runs, and drives them in goroutines of its own. It is safe
// for concurrent use. The store stays the caller's to close, after the runs have ended.
type Runner struct {
	store store.Store
	opts  Options
	owner string

	mu        sync.Mutex
	workflows map[string]flow.Workflow
	handles   map[session.ID]*Handle
}

// Options are a runner's settings. The zero value is good.
type Options struct {
	// Durability says for what a run waits. Empty: Sync.
	Durability Durability
	// Lease is how long a run stays with a process that does not answer any more.
	// 0: 5 seconds.
	Lease time.Duration
	// Decide is asked beside the store when a run has a question, on a terminal, say. One
	// that returns ErrLater leaves the question to the store.
	Decide flow.Decider
	// Patience is how long a run that only waits for decisions is kept going before it
	// is put down, to be resumed when they are there. 0: not at all; negative: for ever.
	Patience time.Duration
	// Place puts the input of a resumed run on a sandbox. nil: it runs without one.
	Place func(context.Context, session.Session) (session.Session, error)
	// Now is the clock. nil: time.Now.
	Now func() time.Time
	// Log gets what cannot be returned. nil: slog.Default().
	Log *slog.Logger
}

// Durability says which effects a run waits for until they are on disk.
type Durability string

const (
	// Sync waits for the intent of a mutating effect before it happens and for its result
	// after, and for a run's beginning and end. The rest goes into the next group commit.
	Sync Durability = "sync"
	// Full waits for every intent and result.
	Full Durability = "full"
)

// ErrLater is what [Options.Decide] returns for a question that it leaves open.
var ErrLater = errors.New("left to be decided later")

const defaultLease = 5 * time.Second

// New makes a runner over a store.
func New(st store.Store, opts *Options) *Runner {
	r := &Runner{store: st, workflows: map[string]flow.Workflow{}, handles: map[session.ID]*Handle{}}
	if opts != nil {
		r.opts = *opts
	}
	if r.opts.Lease <= 0 {
		r.opts.Lease = defaultLease
	}
	if r.opts.Now == nil {
		r.opts.Now = time.Now
	}
	if r.opts.Log == nil {
		r.opts.Log = slog.Default()
	}
	r.owner = newOwner()
	return r
}

// Register makes a workflow known by a name, for [Runner.Resume] to find it.
func (r *Runner) Register(name string, w flow.Workflow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.workflows[name] = w
}

func (r *Runner) workflow(name string) flow.Workflow {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.workflows[name]
}

// StartOption changes how a run starts.
type StartOption func(*store.Run)

// WithID gives the run an id of the caller's: starting it twice is an error, and the
// second one does nothing that changes anything.
func WithID(id session.ID) StartOption { return func(r *store.Run) { r.ID = id } }

// WithTimeout ends the run as timed out when it has taken so long, waiting included.
func WithTimeout(d time.Duration) StartOption {
	return func(r *store.Run) { r.Deadline = r.Created.Add(d) }
}

// WithSpec keeps JSON with the run, of which the caller can build the workflow again.
func WithSpec(spec json.RawMessage) StartOption { return func(r *store.Run) { r.Spec = spec } }

// Start begins a run of a workflow on a session and registers the workflow. It returns
// once the run is on disk, when the workflow is at work already; [Handle.Wait] gives the
// result. When ctx ends the run is
// put down, to be resumed: [Runner.Cancel] ends it for good.
func (r *Runner) Start(ctx context.Context, name string, w flow.Workflow, s session.Session, options ...StartOption) (*Handle, error) {
	r.Register(name, w)
	return r.start(ctx, r.newRun(name, w, s, options), w, s, nil)
}

func (r *Runner) newRun(name string, w flow.Workflow, s session.Session, options []StartOption) store.Run {
	id, at := session.NewID()
	run := store.Run{ID: id, Name: name, Program: flow.Fingerprint(w), Input: s.ID(), State: store.Running, Created: at}
	for _, o := range options {
		o(&run)
	}
	return run
}

// start begins a run, with effects on record that it takes over.
func (r *Runner) start(ctx context.Context, run store.Run, w flow.Workflow, s session.Session, seeds []store.Noted) (*Handle, error) {
	run.Updated = run.Created
	run.Lease = store.Lease{Run: run.ID, Owner: r.owner, Fence: 1, Expires: r.opts.Now().Add(r.opts.Lease)}
	events, err := firstEvents(run, s.Digest(), seeds)
	if err != nil {
		return nil, fmt.Errorf("start run %s: %w", run.ID, err)
	}
	run.Head = events[len(events)-1].Head()
	rec, err := readRecord(slices.Values(events), r.object(ctx))
	if err != nil {
		return nil, fmt.Errorf("start run %s: %w", run.ID, err)
	}
	b := store.Batch{Events: events, Sessions: []session.Session{s}, Lazy: true}
	commit := r.store.CreateRun(ctx, run, b)
	// It begins meanwhile, and what it does comes to the disk behind. A short run so shares
	// one wait for the disk.
	h := r.drive(ctx, run, w, s, rec)
	// Not given up with ctx: the run would be there, ours, and nobody would drive it.
	if err := commit.Wait(context.WithoutCancel(ctx)); err != nil {
		h.cancel(err)
		<-h.done
		return nil, fmt.Errorf("start run %s: %w", run.ID, err)
	}
	return h, nil
}

// firstEvents are those that a run is created with.
func firstEvents(run store.Run, input session.Digest, seeds []store.Noted) ([]store.Event, error) {
	e, err := store.Head{}.Next(store.EventCreated, run.Created, store.Created{
		Run: run.ID, Name: run.Name, Program: run.Program, Spec: run.Spec, Source: run.Source,
		Input: run.Input, Digest: input, Deadline: run.Deadline,
	})
	events := []store.Event{e}
	for _, seed := range seeds {
		if err != nil {
			break
		}
		e, err = e.Head().Next(store.EventNoted, run.Created, seed)
		events = append(events, e)
	}
	return events, err
}

// object reads objects of the store, for as long as ctx lasts.
func (r *Runner) object(ctx context.Context) func(session.Digest) ([]byte, error) {
	ctx = context.WithoutCancel(ctx)
	return func(d session.Digest) ([]byte, error) { return r.store.Object(ctx, d) }
}

// Wait waits until a run has ended, or waits for somebody, whoever drives it, and returns
// what the store has of it.
func (r *Runner) Wait(ctx context.Context, id session.ID) (store.Run, error) {
	if h := r.handle(id); h != nil {
		select {
		case <-h.done:
		case <-ctx.Done():
			return store.Run{}, ctx.Err()
		}
	}
	for {
		run, err := r.store.Run(ctx, id)
		if err != nil || run.State.Ended() || run.State == store.Waiting || run.State == store.NeedsReview {
			return run, err
		}
		if err := sleep(ctx, pollEvery); err != nil {
			return run, err
		}
	}
}

// pollEvery is how often the store is asked for what other processes do.
const pollEvery = 100 * time.Millisecond

func sleep(ctx context.Context, d time.Duration) error { return sleepOr(ctx, d, nil) }

// sleepOr sleeps until it is woken.
func sleepOr(ctx context.Context, d time.Duration, woken <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Runner) handle(id session.ID) *Handle {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handles[id]
}

// Cancel ends a run, whoever drives it: at once if that is this runner, else when its
// process next renews the lease. ErrNotFound, ErrEndedRun.
func (r *Runner) Cancel(ctx context.Context, id session.ID) error {
	if err := r.store.CancelRun(ctx, id); err != nil {
		return fmt.Errorf("cancel run %s: %w", id, err)
	}
	if h := r.handle(id); h != nil {
		h.cancel(ErrCancelled)
		return nil
	}
	run, err := r.acquire(ctx, id)
	if errors.Is(err, store.ErrLeased) {
		return nil // its driver will see it
	}
	if err != nil {
		return fmt.Errorf("cancel run %s: %w", id, err)
	}
	return r.turn(ctx, run, store.StateChange{State: store.Cancelled, Error: ErrCancelled.Error(), Output: run.Output})
}

// turn changes the state of a run that nobody drives, and gives its lease back.
func (r *Runner) turn(ctx context.Context, run store.Run, change store.StateChange, before ...store.Event) error {
	head := run.Head
	if len(before) > 0 {
		head = before[len(before)-1].Head()
	}
	e, err := head.Next(store.EventState, r.opts.Now(), change)
	if err != nil {
		return err
	}
	err = r.store.Append(ctx, run.Lease, store.Batch{Events: append(before, e), State: &change}).Wait(ctx)
	return errors.Join(err, r.store.Release(ctx, run.Lease))
}
