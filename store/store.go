// Package store keeps what happened: sessions, runs, and the events of runs, each once
// and for good. It is an interface and its terms; store/sqlite is the implementation on
// one file, storetest the rules that every implementation keeps.
//
// Content is addressed by its digest: a chunk that a thousand forks share is kept once.
// Events are appended only, numbered without gaps within their run, and chained by
// their hashes (docs/formats/events.md).
//
// Next: [github.com/openrath-go/rath/graph], which shows where sessions come from.
package store

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/openrath-go/rath/session"
)

// Store is where things are kept. It is safe for concurrent use, by several processes
// too. Who opens it closes it; Close waits for what is being written.
type Store interface {
	Sessions
	Objects
	Runs
	Journal
	Interrupts
	Collector
	io.Closer
}

// Sessions keeps sessions.
type Sessions interface {
	// PutSessions keeps sessions and those of their ancestors in memory that are not
	// kept yet, all or none. A session that is kept already is left as it is. It returns
	// when they are on disk.
	PutSessions(ctx context.Context, sessions ...session.Session) error
	// Session reads one session. Its parents are known by id. ErrNotFound.
	Session(ctx context.Context, id session.ID) (session.Session, error)
	// Transcript reads what a session says, or begins with, by its digest. ErrNotFound.
	Transcript(ctx context.Context, d session.Digest) (session.Transcript, error)
	// Heads yields sessions without their content.
	Heads(ctx context.Context, f SessionFilter) iter.Seq2[session.Head, error]
}

// SessionFilter chooses sessions. All that is set must hold; the zero filter is every
// session, in the order of their ids. For ids of [session.NewID] that is the order of
// their time; prompts and imported sessions stand anywhere.
type SessionFilter struct {
	Prefix        string // the id begins so, in its usual form
	Run           string
	Path          string // the workflow that made it, or one above that
	Op            session.Op
	Since, Until  time.Time    // made at Since or later, before Until
	AncestorsOf   []session.ID // these and all that they come from
	DescendantsOf []session.ID // these and all that come from them
	Newest        bool         // in reverse order
	Limit         int          // at most so many; 0: all
}

// Objects keeps bytes by their digest. Chunks are objects too: their canonical JSON.
type Objects interface {
	// PutObject keeps data and returns its SHA-256. ErrTooLarge beyond the store's limit.
	PutObject(ctx context.Context, data []byte) (session.Digest, error)
	// Object reads data back. ErrNotFound; ErrDamaged if it is not what was kept.
	Object(ctx context.Context, d session.Digest) ([]byte, error)
}

// Collector removes what nothing reaches.
type Collector interface {
	// Collect removes runs that ended before a time, sessions made before it that no
	// younger session and no run that is left comes from, and every object that nothing
	// refers to any more.
	Collect(ctx context.Context, c Collection) (Collected, error)
}

// Collection says what to remove. The zero Collection removes unreferenced objects
// only.
type Collection struct {
	Before time.Time
	DryRun bool // only count
}

// Collected is what was removed.
type Collected struct {
	Runs     int   `json:"runs"`
	Events   int   `json:"events"`
	Sessions int   `json:"sessions"`
	Objects  int   `json:"objects"`
	Bytes    int64 `json:"bytes"` // of the objects
}

// Errors that operations wrap.
var (
	ErrNotFound  = errors.New("not found")
	ErrExists    = errors.New("exists already")
	ErrTooLarge  = errors.New("larger than the store's limit")
	ErrDamaged   = errors.New("the record is damaged")
	ErrLeased    = errors.New("another process drives the run")
	ErrFenced    = errors.New("the lease was lost to another process")
	ErrDecided   = errors.New("decided already")
	ErrExpired   = errors.New("the time to decide is over")
	ErrClosed    = errors.New("the store is closed")
	ErrNewer     = errors.New("the store was written by a newer program")
	ErrEndedRun  = errors.New("the run has ended")
	ErrAmbiguous = errors.New("several begin so")
)
