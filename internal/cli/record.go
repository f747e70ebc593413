package cli

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store/jsonl"
)

// recorder keeps every session of a run in a file while it is being made.
type recorder struct {
	dir jsonl.Dir

	mu    sync.Mutex
	open  map[session.ID]*jsonl.Writer
	first error
}

func (r *recorder) observe(e flow.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := e.Where().Session
	switch e := e.(type) {
	case flow.Begin:
		r.fail(r.begin(e.Draft))
	case flow.Reply:
		r.append(id, e.Chunk)
	case flow.Added:
		r.append(id, e.Chunks...)
	case flow.End:
		if w := r.open[id]; w != nil {
			delete(r.open, id)
			r.fail(w.Close(e.Session, time.Now()))
		}
	}
}

// begin saves the ancestors that have no file yet, and opens the session's own.
func (r *recorder) begin(draft session.Session) error {
	for s := range draft.Ancestors() {
		file := filepath.Join(string(r.dir), s.ID().String()+jsonl.Suffix)
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if err := jsonl.Save(string(r.dir), s, time.Now()); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	w, err := jsonl.Create(string(r.dir), draft)
	if err != nil {
		return err
	}
	if r.open == nil {
		r.open = map[session.ID]*jsonl.Writer{}
	}
	r.open[draft.ID()] = w
	return nil
}

func (r *recorder) append(id session.ID, chunks ...session.Chunk) {
	if w := r.open[id]; w != nil {
		r.fail(w.Append(chunks...))
	}
}

func (r *recorder) fail(err error) {
	if r.first == nil {
		r.first = err
	}
}

// err returns the first thing that could not be kept.
func (r *recorder) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first
}
