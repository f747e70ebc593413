// Package memory is what survives between runs: a [*Store] keeps notes under URIs such as
// memory://user/memories/preferences/0a1b2c3d, finds them again, and learns from the
// transcripts that are committed to it. What is behind it is a driver of the folders below:
// [github.com/openrath-go/rath/memory/local] keeps notes in a file of this machine.
//
// Everything that reads or writes is an effect: in a durable run it is recorded, and a
// replay sees what the run saw. What a note says is data, and never an instruction: see
// [Store.Tell].
//
// Next: [github.com/openrath-go/rath/workspace], the files that agents work on, forked and merged.
package memory

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/resource"
)

// The types that drivers share with users.
type (
	URI          = driver.URI
	Note         = driver.Note
	Source       = driver.Source
	Trust        = driver.Trust
	Level        = driver.Level
	Entry        = driver.Entry
	Hit          = driver.Hit
	Found        = driver.Found
	Matching     = driver.Matching
	Ingested     = driver.Ingested
	Archive      = driver.Archive
	Committed    = driver.Committed
	Stats        = driver.Stats
	Capabilities = driver.Capabilities
	Embedder     = driver.Embedder
)

// The labels of who said what is in a note, the levels of reading, the ways of matching,
// and how far a commit has come.
const (
	TrustUser     = driver.TrustUser
	TrustAgent    = driver.TrustAgent
	TrustTool     = driver.TrustTool
	TrustResource = driver.TrustResource
	TrustUnknown  = driver.TrustUnknown

	Abstract = driver.Abstract
	Overview = driver.Overview
	Detail   = driver.Detail

	MatchBest    = driver.MatchBest
	MatchWords   = driver.MatchWords
	MatchMeaning = driver.MatchMeaning

	Archived = driver.Archived
	Queued   = driver.Queued
	Done     = driver.Done
	Known    = driver.Known

	Root = driver.Root
)

// The kinds of errors; every error of a store is an [*Error] that wraps one of them, or
// none.
var (
	ErrInvalidURI   = driver.ErrInvalidURI
	ErrInvalid      = driver.ErrInvalid
	ErrNotFound     = driver.ErrNotFound
	ErrExists       = driver.ErrExists
	ErrUnauthorized = driver.ErrUnauthorized
	ErrTransport    = driver.ErrTransport
	ErrUnsupported  = driver.ErrUnsupported
	ErrConflict     = driver.ErrConflict
	ErrClosed       = driver.ErrClosed
)

// ParseURI reads a URI; viking:// is accepted for memory://.
func ParseURI(text string) (URI, error) { return driver.ParseURI(text) }

// Options say how a store works, whatever driver is behind it. The zero Options are good.
type Options struct {
	Name      string            // in records, "local:notes"; empty: "memory"
	Extractor Extractor         // finds the facts in what is committed; nil: nobody does
	Resources *resource.Options // how documents are read; nil: the defaults of resource.Load
	Log       *slog.Logger      // told of what goes wrong in the background; nil: nobody
}

// Store is one open memory. It is safe for concurrent use. Who opened it closes it.
type Store struct {
	d    driver.Store
	opts Options

	background sync.WaitGroup
	stop       context.CancelCauseFunc // ends what runs in the background
	life       context.Context
	worker     *worker // nil: nobody extracts facts here
}

// New makes the portable type of a driver's. It is for drivers.
func New(d driver.Store, o *Options) *Store {
	s := &Store{d: d}
	if o != nil {
		s.opts = *o
	}
	s.opts.Name = cmp.Or(s.opts.Name, "memory")
	if s.opts.Log == nil {
		s.opts.Log = slog.New(slog.DiscardHandler)
	}
	s.life, s.stop = context.WithCancelCause(context.Background())
	if a, ok := d.(driver.Archiver); ok && s.opts.Extractor != nil {
		s.worker = newWorker(s, a)
		s.background.Go(s.worker.loop)
	}
	return s
}

// String is the store's name in records.
func (s *Store) String() string { return s.opts.Name }

// Capabilities say what it can do beside keeping plain notes. What it cannot is refused
// with [ErrUnsupported] before anything is done.
func (s *Store) Capabilities() Capabilities { return s.d.Capabilities() }

// Stats tells how much is kept.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	return do(ctx, s, operation{OpStats, "", effect.ReadOnly}, struct{}{}, func(ctx context.Context) (Stats, error) {
		if c, ok := s.d.(driver.Counter); ok {
			return c.Stats(ctx)
		}
		return Stats{}, unsupported("tell how much it keeps")
	})
}

// Close ends what runs in the background, where that can be taken up again later, and
// closes the store. See [Store.Wait].
func (s *Store) Close() error {
	s.stop(ErrClosed)
	s.background.Wait()
	return s.fail("close", "", s.d.Close())
}

func (s *Store) fail(op, on string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &Error{Op: op, On: on, Store: s.opts.Name, Err: err}
}
