package evidence

import (
	"encoding/json"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// Version is that of the dossiers which this package makes: of their form, and of how
// findings follow from records. It reads and verifies older ones as they were made, back
// to version 2.
const Version = 4

// The versions in which something changed.
const (
	versionFirst   = 2
	versionMemory  = 3 // findings tell what operations on a memory gave
	versionChoices = 4 // findings tell what selectors chose, and whose model calls theirs and those of compressors are
)

// Dossier is everything that a store knows of a run or a session. [Collect] makes one.
// It is plain data, the JSON of [Dossier.WriteJSON] but for the seal; who changes it makes
// it untrue.
type Dossier struct {
	Version   int       `json:"version"`
	Subject   Subject   `json:"subject"`
	Collected time.Time `json:"collected"`
	// Redactions are the values that were taken out. Each stands in the records as
	// "[redacted sha256:" and the first 16 digits of its digest and "]".
	Redactions []Redaction `json:"redactions,omitempty"`
	Findings   Findings    `json:"findings"`
	Records    Records     `json:"records"`
}

// Subject is what a dossier is about.
type Subject struct {
	Kind string     `json:"kind"` // SubjectRun or SubjectSession
	ID   session.ID `json:"id"`
}

// The kinds of subjects.
const (
	SubjectRun     = "run"
	SubjectSession = "session"
)

// Redaction is a value that was taken out.
type Redaction struct {
	Digest session.Digest `json:"digest"` // SHA-256 of the value
	Rule   string         `json:"rule"`   // what found it: "github", "pattern 0"
	Times  int            `json:"times"`  // in how many places of the records it was
}

// Records are what was kept as it happened.
type Records struct {
	Runs     []RunRecord    `json:"runs,omitempty"`
	Sessions []session.Head `json:"sessions,omitempty"` // parents before their children
	// Links are the transcripts of the sessions. A transcript is a chain: a session's
	// digest names its last link, and each link the one before it. What sessions share
	// is here once.
	Links []Link `json:"links,omitempty"` // each after the one before it
	// Contents are the chunks, and the large values of events, each once.
	Contents []Content `json:"contents,omitempty"`
}

// RunRecord is what was kept of a run.
type RunRecord struct {
	ID         session.ID        `json:"id"`
	Events     []Event           `json:"events"`
	Interrupts []store.Interrupt `json:"interrupts,omitempty"`
}

// Event is an event of a run.
type Event struct {
	store.Event
	// Redacted is the hash that the event would have as it stands here, where something in
	// it was redacted. Hash is that of the event as it was, and cannot be recomputed.
	Redacted session.Digest `json:"redacted,omitzero"`
}

// Link is one place of a transcript: docs/formats/digest.md.
type Link struct {
	Digest session.Digest `json:"digest"`          // of the transcript up to here
	Before session.Digest `json:"before,omitzero"` // the link before; zero: this is the first
	Chunk  session.Digest `json:"chunk"`           // of the chunk's canonical JSON
}

// Content is JSON that is known by the digest of its canonical form (RFC 8785).
type Content struct {
	Digest   session.Digest  `json:"digest"`
	Value    json.RawMessage `json:"value"`
	Redacted session.Digest  `json:"redacted,omitzero"` // SHA-256 of what stands here, where something was redacted
}
