package driver

import (
	"time"

	"github.com/openrath-go/rath/session"
)

// Archive is a session's transcript that was committed.
type Archive struct {
	Session    session.ID         `json:"session"`
	Digest     session.Digest     `json:"digest"`
	Len        int                `json:"len"` // chunks
	Time       time.Time          `json:"time"`
	Used       []URI              `json:"used,omitempty"` // notes that the session was told
	State      State              `json:"state,omitempty"`
	Notes      []URI              `json:"notes,omitempty"` // of a job that is done: what it kept, as it was called then
	Transcript session.Transcript `json:"-"`
}

// Job is the work that an archived transcript is waiting for: to have its facts extracted.
type Job struct {
	ID      int64
	Owner   string        // who works on it
	Tries   int           // this one included
	From    int           // as many of its chunks were archived with a job before
	Lease   time.Duration // for which it is held, from now or the last Renew; 0: not told
	Archive Archive
}

// Committed is what became of a commit.
type Committed struct {
	Archive Archive `json:"archive"`
	Notes   []Note  `json:"notes,omitempty"` // that were extracted, if it is done
}

// State is how far a commit has come.
type State string

// The states of a commit.
const (
	Archived State = "archived" // and there is nothing to do: nobody extracts facts
	Queued   State = "queued"
	Done     State = "done"
	Failed   State = "failed" // too often: it is tried again only by request
	Known    State = "known"  // the same was committed before, and its facts extracted
)
