package store

import (
	"encoding/json"
	"time"

	"github.com/openrath-go/rath/session"
)

// Created is the body of a run's first event.
type Created struct {
	Run      session.ID      `json:"run"`
	Name     string          `json:"name"`
	Program  string          `json:"program"`
	Spec     json.RawMessage `json:"spec,omitempty"`
	Source   session.ID      `json:"source,omitzero"`
	Input    session.ID      `json:"input"`
	Digest   session.Digest  `json:"digest"` // of the input
	Deadline time.Time       `json:"deadline,omitzero"`
}

// StateChange is what an event tells of a new state.
type StateChange struct {
	State  State          `json:"state"`
	Output session.ID     `json:"output,omitzero"`
	Digest session.Digest `json:"digest,omitzero"` // of the output
	Error  string         `json:"error,omitempty"`
	Owner  string         `json:"owner,omitempty"` // who drives it from now on
}

// Traced says where what follows is told of by OpenTelemetry. Both ids are lower-case
// hexadecimal.
type Traced struct {
	Trace string `json:"trace"`
	Span  string `json:"span"` // the run's own
}

// SessionMade says that the run has made a session.
type SessionMade struct {
	ID     session.ID     `json:"id"`
	Digest session.Digest `json:"digest"`
	Path   string         `json:"path,omitempty"`
}

// Intent says that an effect is about to happen. An effect is known by its path, kind,
// name, input and occurrence, and named by the number of its intent's event.
type Intent struct {
	Path       string          `json:"path,omitempty"` // of the scope
	Kind       string          `json:"kind"`
	Name       string          `json:"name,omitempty"`
	Class      string          `json:"class"` // mutating, idempotent, read_only
	Key        string          `json:"key,omitempty"`
	Digest     session.Digest  `json:"digest"`               // of the input's JSON, before references were put into it
	Input      json.RawMessage `json:"input,omitempty"`      // its large members as references
	Occurrence int             `json:"occurrence,omitempty"` // how many alike came before
	Attempt    int             `json:"attempt,omitempty"`    // how many intents of this effect came before
	Within     int64           `json:"within,omitempty"`     // the effect that it happens in
	Note       json.RawMessage `json:"note,omitempty"`       // what the program wants to know of the attempt later
}

// Result says what an effect gave.
type Result struct {
	Effect int64           `json:"effect"`          // the number of its first intent
	Value  json.RawMessage `json:"value,omitempty"` // its large members as references
	Error  string          `json:"error,omitempty"`
	TookUS int64           `json:"took_us"`

	// Cancelled says that the effect was stopped from outside: what it gave until then is
	// here, and nobody knows whether it took effect. It is open, as if there were no result.
	Cancelled bool `json:"cancelled,omitempty"`
}

// Noted is an effect that is over as soon as it begins, in one event: the time, say.
type Noted struct {
	Intent
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`

	// Settled says that a person gave the value, in the run that this one reruns.
	Settled bool `json:"settled,omitempty"`
}

// Settled says what somebody knows of an effect that began and left no result.
type Settled struct {
	Effect  int64           `json:"effect"`
	Verdict Verdict         `json:"verdict"`
	Value   json.RawMessage `json:"value,omitempty"` // with VerdictResult
	By      string          `json:"by,omitempty"`
}

// Verdict is how an effect was settled.
type Verdict string

// The verdicts.
const (
	VerdictResult  Verdict = "result"   // it happened, with this result
	VerdictNotDone Verdict = "not_done" // it did not happen: it is done again
	VerdictAbort   Verdict = "abort"    // nobody knows: the run ends
)
