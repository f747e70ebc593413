package memory

import (
	"context"
	"errors"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// CommitOptions say how a session is committed.
type CommitOptions struct {
	Wait bool  // until its facts are extracted
	Used []URI // notes that the session was told, for the record
}

// committed is the input of a commit.
type committed struct {
	Session session.ID     `json:"session"`
	Digest  session.Digest `json:"digest"`
	Len     int            `json:"len"`
	Wait    bool           `json:"wait,omitempty"`
	Used    []URI          `json:"used,omitempty"`
}

// Commit archives a session's transcript under its digest and, where the store has an
// [Extractor] or a server with one, has its lasting facts extracted in the background. The
// work is in a queue that survives the process; who cannot wait leaves it to the next. The
// same transcript again is known, and one that goes on from another has only what is new
// in it read.
func (s *Store) Commit(ctx context.Context, in session.Session, o *CommitOptions) (Committed, error) {
	if o == nil {
		o = &CommitOptions{}
	}
	t := in.Transcript()
	c := committed{in.ID(), t.Digest(), t.Len(), o.Wait, o.Used}
	op := operation{OpCommit, "session " + in.ID().String(), effect.Idempotent}
	if c.Len == 0 {
		return Committed{}, s.fail(op.name, op.on, invalid("the session is empty"))
	}
	return do(ctx, s, op, c, func(ctx context.Context) (Committed, error) {
		return s.commit(ctx, Archive{Session: c.Session, Digest: c.Digest, Len: c.Len, Time: time.Now().UTC(), Used: c.Used, Transcript: t}, o.Wait)
	})
}

func (s *Store) commit(ctx context.Context, a Archive, wait bool) (Committed, error) {
	switch d := s.d.(type) {
	case driver.Committer:
		return d.Commit(ctx, a, wait)
	case driver.Archiver:
		return s.archive(ctx, d, a, wait)
	}
	return Committed{}, unsupported("keep transcripts")
}

func (s *Store) archive(ctx context.Context, d driver.Archiver, a Archive, wait bool) (Committed, error) {
	state, err := d.Archive(ctx, a, s.worker != nil)
	a.State = state
	if err == nil && state == Known {
		return s.again(ctx, d, a)
	}
	if err != nil || state != Queued {
		return Committed{Archive: a}, err
	}
	s.worker.wake()
	if !wait {
		return Committed{Archive: a}, nil
	}
	notes, err := s.worker.await(ctx, a)
	if err == nil {
		a.State = Done
	}
	return Committed{Archive: a, Notes: notes}, err
}

// again is what an earlier commit of the same gave.
func (s *Store) again(ctx context.Context, d driver.Archiver, a Archive) (Committed, error) {
	c := Committed{Archive: a}
	list, err := d.Archives(ctx, a.Session)
	for _, other := range list {
		if other.Digest == a.Digest {
			c.Archive.Notes = other.Notes
		}
	}
	for _, uri := range c.Archive.Notes {
		n, err := s.d.Get(ctx, uri)
		if errors.Is(err, ErrNotFound) {
			continue // it was moved or removed since
		}
		if err != nil {
			return c, err
		}
		c.Notes = append(c.Notes, n)
	}
	return c, err
}

// Archives returns what was committed of a session, or of all if it is zero, the oldest
// first.
func (s *Store) Archives(ctx context.Context, id session.ID) ([]Archive, error) {
	return do(ctx, s, operation{OpList, "archives", effect.ReadOnly}, id, func(ctx context.Context) ([]Archive, error) {
		if d, ok := s.d.(driver.Archiver); ok {
			return d.Archives(ctx, id)
		}
		return nil, unsupported("list what was committed")
	})
}

// Transcript returns what was committed under a digest. It is no effect: the digest says
// what it gives.
func (s *Store) Transcript(ctx context.Context, digest session.Digest) (session.Transcript, error) {
	d, ok := s.d.(driver.Archiver)
	if !ok {
		return session.Transcript{}, s.fail(OpRead, "archive", unsupported("return what was committed"))
	}
	t, err := d.Transcript(ctx, digest)
	return t, s.fail(OpRead, "archive "+digest.String(), err)
}

// errFailed is what a commit that is waited for came to. The work stays in the queue.
var errFailed = errors.New("the facts could not be extracted and are tried again later")

// pause is between two looks at what other processes may be working on.
const pause = 100 * time.Millisecond

// Wait waits until nothing is left to extract but what has failed for good. It returns at
// once where nobody extracts facts.
func (s *Store) Wait(ctx context.Context) error {
	for s.worker != nil {
		jobs, failed, err := s.worker.d.Pending(ctx)
		if err != nil || jobs <= failed {
			return s.fail("wait", "", err)
		}
		s.worker.wake()
		if err := s.worker.sleep(ctx); err != nil {
			return s.fail("wait", "", err)
		}
	}
	return nil
}
