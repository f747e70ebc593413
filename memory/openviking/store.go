package openviking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/openrath-go/rath/memory/driver"
)

// store is a server as a driver.
type store struct {
	client *Client
	names  names
	opts   Options

	mu     sync.RWMutex // held for reading while something is under way
	closed bool

	sending sync.Mutex // of messages to a session
}

var (
	_ driver.Store     = (*store)(nil)
	_ driver.Ingester  = (*store)(nil)
	_ driver.Committer = (*store)(nil)
	_ driver.Leveler   = (*store)(nil)
)

// enter begins a call, and leave ends it, whatever enter has said.
func (s *store) enter() error {
	s.mu.RLock()
	if s.closed {
		return driver.ErrClosed
	}
	return nil
}

func (s *store) leave() { s.mu.RUnlock() }

// Close waits for what is under way, and ends the connections.
func (s *store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.client.Close()
	return nil
}

// Capabilities has no Metadata: what of a note is refused and what is lost is said at the
// package.
func (s *store) Capabilities() driver.Capabilities {
	return driver.Capabilities{Semantic: true, Move: true, Ingest: true, Commit: true}
}

// Put keeps the texts of notes, one after another: when one fails, those before it stay.
func (s *store) Put(ctx context.Context, mode driver.Mode, notes ...driver.Note) ([]driver.Note, error) {
	defer s.leave()
	if err := s.enter(); err != nil {
		return nil, err
	}
	var kept []driver.Note
	for _, n := range notes {
		if err := s.put(ctx, mode, n); err != nil {
			return kept, fmt.Errorf("keep %s: %w", n.URI, err)
		}
		kept = append(kept, driver.Note{URI: n.URI, Text: n.Text, Trust: trust(n.URI)})
	}
	return kept, nil
}

// attempts is how often a write is tried on a file that others make and remove.
const attempts = 4

// put makes a file first, since most notes are new, and writes it if it is there.
func (s *store) put(ctx context.Context, mode driver.Mode, n driver.Note) (err error) {
	if err := s.writable(n.URI); err != nil {
		return err
	}
	remote, err := s.names.file(n.URI)
	if err != nil {
		return err
	}
	for range attempts {
		err = s.client.Write(ctx, remote, n.Text, create, s.opts.Wait)
		if !errors.Is(err, driver.ErrExists) && !hasCode(err, "CONFLICT") { // the documents have both
			return err
		}
		if mode == driver.Merge {
			err = s.compare(ctx, remote, n.Text)
		} else {
			err = s.client.Write(ctx, remote, n.Text, replace, s.opts.Wait)
		}
		if !errors.Is(err, driver.ErrNotFound) {
			return err
		}
	}
	return err
}

// compare finds the same words in a file, or something else.
func (s *store) compare(ctx context.Context, remote, text string) error {
	there, err := s.client.Read(ctx, remote)
	if err == nil && !driver.Same(there, text) {
		err = driver.ErrExists
	}
	return err
}

// writable refuses what no server takes, with the reason.
func (s *store) writable(u driver.URI) error {
	_, rest, _ := strings.Cut(u.Path(), "/")
	top, _, _ := strings.Cut(rest, "/")
	switch {
	case u.Scope() == driver.ScopeSession:
		return fmt.Errorf("%w: the server keeps sessions itself; Commit adds to them", driver.ErrUnsupported)
	case u.Scope() == driver.ScopeAgent && s.opts.Agent == "" && !slices.Contains(agentFolders, top):
		return fmt.Errorf("%w: the server keeps only %s of agents; Options.Agent names a peer whose notes memory://agent has",
			driver.ErrUnsupported, strings.Join(agentFolders, ", "))
	}
	return nil
}

var agentFolders = []string{"skills", "endpoints", "tools", "payments"}

// trust is what can be said of a note by its place: a document's text is a document's.
func trust(u driver.URI) driver.Trust {
	if u.Scope() == driver.ScopeResources || u.In(userResources) {
		return driver.TrustResource
	}
	return driver.TrustUnknown
}

const userResources = driver.Root + driver.ScopeUser + "/resources"

// Get returns a note with the time at which it was written last.
func (s *store) Get(ctx context.Context, uri driver.URI) (driver.Note, error) {
	defer s.leave()
	if err := s.enter(); err != nil {
		return driver.Note{}, err
	}
	f, err := s.stat(ctx, uri)
	if err != nil {
		return driver.Note{}, err
	}
	text, err := s.client.Read(ctx, f.URI)
	return driver.Note{URI: uri, Text: text, Time: f.Time(), Trust: trust(uri)}, err
}

// stat finds the file of a note: by the name that Put gives it, or by the note's own, for
// files that the server has made itself.
func (s *store) stat(ctx context.Context, uri driver.URI) (File, error) {
	remote, err := s.names.file(uri)
	if err != nil {
		return File{}, err
	}
	f, err := s.statFile(ctx, remote)
	if own, _ := s.names.folder(uri); errors.Is(err, driver.ErrNotFound) && own != remote {
		f, err = s.statFile(ctx, own)
	}
	return f, err
}

func (s *store) statFile(ctx context.Context, remote string) (File, error) {
	f, err := s.client.Stat(ctx, remote)
	if err == nil && f.IsDir {
		err = fmt.Errorf("%w: %s is a folder", driver.ErrNotFound, remote)
	}
	f.URI = remote
	return f, err
}
