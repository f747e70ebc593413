package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/openrath-go/rath/session"
)

// State is where a run is.
type State string

// The states of a run.
const (
	Queued      State = "queued"       // nobody drives it
	Running     State = "running"      // a process drives it
	Waiting     State = "waiting"      // for decisions
	NeedsReview State = "needs_review" // for somebody to settle an effect
	Succeeded   State = "succeeded"
	Failed      State = "failed"
	Cancelled   State = "cancelled"
	TimedOut    State = "timed_out"
)

// States are all of them, in their natural order.
var States = []State{Queued, Running, Waiting, NeedsReview, Succeeded, Failed, Cancelled, TimedOut}

// Ended reports whether nothing can follow.
func (s State) Ended() bool {
	return s == Succeeded || s == Failed || s == Cancelled || s == TimedOut
}

// UnmarshalText refuses names it does not know.
func (s *State) UnmarshalText(text []byte) error {
	if !slices.Contains(States, State(text)) {
		return fmt.Errorf("unknown run state %q", text)
	}
	*s = State(text)
	return nil
}

// Run is one execution of a workflow.
type Run struct {
	ID       session.ID      `json:"id"`
	Name     string          `json:"name"`              // the workflow's
	Program  string          `json:"program"`           // digest of its prompts, tools and schemas
	Spec     json.RawMessage `json:"spec,omitempty"`    // what its owner needs to build the workflow again
	Source   session.ID      `json:"source,omitzero"`   // the run that this one reruns
	Input    session.ID      `json:"input"`             // the session it began with
	Output   session.ID      `json:"output,omitzero"`   // the session it gave, or got as far as
	State    State           `json:"state"`             //
	Error    string          `json:"error,omitempty"`   // why it failed
	Created  time.Time       `json:"created"`           //
	Updated  time.Time       `json:"updated"`           // when its state last changed
	Deadline time.Time       `json:"deadline,omitzero"` // when it times out; zero: never
	Head     Head            `json:"head"`              // its last event
	Lease    Lease           `json:"lease,omitzero"`    // who drives it
	Cancel   bool            `json:"cancel,omitempty"`  // somebody asked for its end
}

// Lease is the right to drive a run. Each new holder has a higher Fence, and the store
// refuses what comes with a lower one.
type Lease struct {
	Run     session.ID `json:"-"`
	Owner   string     `json:"owner"`
	Fence   int64      `json:"fence"`
	Expires time.Time  `json:"expires"`
}

// Held reports whether somebody has the lease at a time.
func (l Lease) Held(now time.Time) bool { return l.Owner != "" && now.Before(l.Expires) }

// Runs keeps runs.
type Runs interface {
	// CreateRun keeps a new run, with its lease if it has one, and the first batch of its
	// events. ErrExists.
	CreateRun(ctx context.Context, r Run, b Batch) Commit
	// Run reads one run. ErrNotFound.
	Run(ctx context.Context, id session.ID) (Run, error)
	// Runs yields runs.
	Runs(ctx context.Context, f RunFilter) iter.Seq2[Run, error]
	// Acquire takes the lease of a run until ttl from now and returns the run with it. A
	// lease that somebody holds is refused with ErrLeased, unless its fence is over: the
	// caller knows that this very holder is dead. ErrEndedRun.
	Acquire(ctx context.Context, id session.ID, owner string, ttl time.Duration, over int64) (Run, error)
	// Renew holds a lease for ttl from now, and reports whether somebody asked for the
	// run's end. ErrFenced.
	Renew(ctx context.Context, l Lease, ttl time.Duration) (cancel bool, err error)
	// Release gives a lease back. One that is lost already is no error.
	Release(ctx context.Context, l Lease) error
	// CancelRun asks whoever drives the run to end it. ErrNotFound, ErrEndedRun.
	CancelRun(ctx context.Context, id session.ID) error
}

// RunFilter chooses runs. The zero filter is every run, the oldest first.
type RunFilter struct {
	Prefix       string // the id begins so
	Name         string
	States       []State
	Since, Until time.Time // created
	Newest       bool      // the newest first
	Limit        int       // at most so many; 0: all
}
