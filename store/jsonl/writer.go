package jsonl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/openrath-go/rath/session"
)

// WriteError says that a session could not be kept.
type WriteError struct {
	File string
	Err  error
}

func (e *WriteError) Error() string { return fmt.Sprintf("write session %s: %v", e.File, e.Err) }

func (e *WriteError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *WriteError) Hint() string {
	if errors.Is(e.Err, fs.ErrPermission) || errors.Is(e.Err, errReadOnly) {
		return "make the folder writable, or choose another with OPENRATH_HOME"
	}
	return "check the disk that holds the OpenRath home, or choose another with OPENRATH_HOME"
}

// writeError keeps of a path error what went wrong: the file is named already.
func writeError(file string, err error) error {
	if p, ok := err.(*fs.PathError); ok {
		err = p.Err
	}
	return &WriteError{file, err}
}

// Writer writes a session's file while the session is being made. It is not safe for
// concurrent use. End it with Close or Abort.
type Writer struct {
	f     *os.File
	final string
	n     int   // chunks written
	notes int   // lineage extras in the header
	err   error // the first; after it nothing more is written
}

// Create begins the file of a session in a folder, which is made if need be, with what
// the session has so far: its header and its chunks.
func Create(dir string, draft session.Session) (*Writer, error) {
	final := filepath.Join(dir, draft.ID().String()+Suffix)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, writeError(final, err)
	}
	f, err := os.OpenFile(final+partialOnly, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, writeError(final, err)
	}
	w := &Writer{f: f, final: final, notes: len(draft.Lineage().Extras)}
	w.record(headerOf(draft.Record()))
	for _, c := range draft.All() {
		w.chunk(c)
	}
	if w.err != nil {
		return nil, errors.Join(w.err, w.Abort())
	}
	return w, nil
}

const partialOnly = ".__partial__"

// Append adds chunks. Each is one write, so a crash of the program loses none; a crash
// of the machine may lose what was not synced.
func (w *Writer) Append(chunks ...session.Chunk) error {
	for _, c := range chunks {
		w.chunk(c)
	}
	return w.err
}

func (w *Writer) chunk(c session.Chunk) {
	record, err := chunkOf(w.n, c)
	if err != nil {
		w.fail(err)
		return
	}
	w.n++
	w.record(record)
}

func (w *Writer) record(r any) {
	if w.err != nil {
		return
	}
	data, err := line(r)
	if err == nil {
		_, err = w.f.Write(data)
	}
	w.fail(err)
}

func (w *Writer) fail(err error) {
	if w.err == nil && err != nil {
		w.err = writeError(w.final, err)
	}
}

// Sync makes what was written survive a crash of the machine.
func (w *Writer) Sync() error {
	if w.err == nil {
		w.fail(w.f.Sync())
	}
	return w.err
}

// Close writes the trailer of the finished session and gives the file its final name.
// Chunks that s has and the file has not are added first. After an error the partial
// file stays.
func (w *Writer) Close(s session.Session, closed time.Time) error {
	for i, c := range s.All() {
		if i >= w.n {
			w.chunk(c)
		}
	}
	t := trailerOf(s, closed)
	t.Rath.Extras = s.Lineage().Extras[w.notes:]
	w.record(t)
	_ = w.Sync()
	w.fail(w.f.Close())
	if w.err != nil {
		return w.err
	}
	w.fail(os.Rename(w.final+partialOnly, w.final))
	w.fail(syncDir(filepath.Dir(w.final)))
	return w.err
}

// Abort leaves the partial file as it is, for a later look.
func (w *Writer) Abort() error {
	err := w.f.Close()
	if w.err != nil {
		return w.err
	}
	return err
}

// Save writes the file of a session that is finished already.
func Save(dir string, s session.Session, closed time.Time) error {
	w, err := Create(dir, s)
	if err != nil {
		return err
	}
	return w.Close(s, closed)
}

// syncDir makes a rename survive a crash of the machine, where folders can be synced.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}
