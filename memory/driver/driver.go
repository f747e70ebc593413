// Package driver is what implementors of memory write. Users work with the portable
// [github.com/openrath-go/rath/memory.Store]; the rules that a driver keeps are tests in
// [github.com/openrath-go/rath/memory/memorytest].
//
// Next: [github.com/openrath-go/rath/memory/memorytest].
package driver

import (
	"context"

	"github.com/openrath-go/rath/session"
)

// Store keeps notes. All its methods but Close are safe for concurrent use, and take only
// what [ParseURI] and the checks of this package accept: the portable type sees to that.
// Errors wrap the kinds of this package where one fits.
type Store interface {
	Capabilities() Capabilities
	Notes
	Folders
	// Find returns the notes that answer a query, best first.
	Find(ctx context.Context, q Query) (Found, error)
	// Close waits for what is under way. What is called after it fails with [ErrClosed].
	Close() error
}

// Notes are kept by their URIs.
type Notes interface {
	// Put keeps notes, all or none, in order, and returns them as they are kept then.
	Put(ctx context.Context, mode Mode, notes ...Note) ([]Note, error)
	// Get returns a note, or [ErrNotFound]; a folder is none.
	Get(ctx context.Context, uri URI) (Note, error)
	// Remove takes a note away, or a folder with all that is in it if recursive is set.
	// It returns how many notes it took, and [ErrNotFound] if nothing is there. A folder
	// without recursive is [ErrInvalid].
	Remove(ctx context.Context, uri URI, recursive bool) (int, error)
}

// Folders are what the paths of notes make. There are no empty ones.
type Folders interface {
	// List yields what is directly in a folder, in order of URIs; a scope may be empty,
	// another folder with nothing in it is [ErrNotFound].
	List(ctx context.Context, folder URI) ([]Entry, error)
	// Move gives a note, or all that is in a folder, another URI, at once. What is there
	// already is [ErrExists].
	Move(ctx context.Context, from, to URI) error
}

// Mode says what Put does where a note is already.
type Mode uint8

// The modes.
const (
	// Replace takes the place of what is there; the time at which it was first kept stays.
	Replace Mode = iota
	// Merge takes a note with the same words ([Same]) for the same: the latest time and the
	// greater importance count, and metadata is joined. Another note at the URI is
	// [ErrExists]. To say a thing again makes it no truer: its trust stays, unless it is a
	// person who says it now ([TrustUser]). Who is trusted less than the note changes
	// nothing of it, be it ended or not.
	//
	// A note that is about something ends the notes of its folder that are about the same
	// and say something else: they stay, and their Until is set to its Time. Its Replaces
	// names the last of them. A note that comes with a Replaces ends the note there, too.
	// But if one of them was said later, that one holds, and the new note ends at its time.
	//
	// No note ends one with a better trust, whichever was said later: both hold, and a
	// Replaces that names such a note is dropped.
	//
	// A time that is ahead of the store's clock says nothing of what came first, for the
	// clock was put back: a note whose time is not ahead takes its place. Until is never
	// before the note's own Time.
	Merge
)

// Leveler is implemented by drivers whose server has texts of the levels of its own.
type Leveler interface {
	// Level returns a note or a folder at a level.
	Level(ctx context.Context, uri URI, level Level) (string, error)
}

// Ingester is implemented by drivers whose server reads resources itself.
type Ingester interface {
	// Ingest reads a resource into notes below its URI.
	Ingest(ctx context.Context, r Resource) (Ingested, error)
}

// Committer is implemented by drivers whose server extracts facts itself.
type Committer interface {
	// Commit hands over a transcript, and waits for the facts if wait is set.
	Commit(ctx context.Context, a Archive, wait bool) (Committed, error)
}

// Archiver is implemented by drivers that keep transcripts, and what is still to be done
// with them, as safely as notes.
type Archiver interface {
	// Archive keeps a transcript, and if job is set a job for it unless there was one; a
	// job that has failed is queued again, and one that waits for its next try is tried at
	// once. It returns the archive's state: Archived without a job, Queued, or Known if the
	// job was done before. A chunk is kept once, whatever number of transcripts begin with
	// it.
	Archive(ctx context.Context, a Archive, job bool) (State, error)
	// Archives returns what is kept of a session, or of all if it is zero, the oldest
	// first, with their states and without chunks.
	Archives(ctx context.Context, id session.ID) ([]Archive, error)
	// Transcript returns what was archived under a digest, or [ErrNotFound].
	Transcript(ctx context.Context, digest session.Digest) (session.Transcript, error)

	// Claim takes up the oldest job that nobody works on, or reports that there is none.
	// Who holds a job for longer than the lease without renewing it loses it.
	Claim(ctx context.Context, owner string) (Job, bool, error)
	// Renew holds a claim for longer. It fails with [ErrConflict] if the job is lost.
	Renew(ctx context.Context, j Job) error
	// Finish keeps what a job gave and removes the job, at once; for a job that is lost
	// it keeps nothing and fails with [ErrConflict].
	Finish(ctx context.Context, j Job, notes []Note) error
	// Fail puts a job back, to be tried later or, if it has no more tries, by request only.
	Fail(ctx context.Context, j Job, why string) error
	// Release puts a job back that was not tried, to be taken up at once.
	Release(ctx context.Context, j Job) error
	// Pending counts the jobs that are left, and those of them that have failed for good.
	Pending(ctx context.Context) (jobs, failed int, err error)
}

// Extras is implemented by drivers that keep the files of a directory that are not notes,
// so that it can be written again as it was.
type Extras interface {
	PutExtra(ctx context.Context, name string, data []byte) error
	// EachExtra calls f with each file, in order of names.
	EachExtra(ctx context.Context, f func(name string, data []byte) error) error
}

// Counter is implemented by drivers that can tell how much they keep.
type Counter interface {
	Stats(ctx context.Context) (Stats, error)
}

// Embedder turns texts into vectors of one dimension, texts and vectors in the same order.
// It is safe for concurrent use. [github.com/openrath-go/rath/llm.Embedder] is the same; see
// there for what it keeps to.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// String names the model: vectors of models with different names are never compared.
	String() string
}
