package cli

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"sync"
	"syscall"
)

// output is stdout. It keeps the first error and writes nothing after it, so that a lost
// answer is never taken for a success, whoever wrote it.
type output struct {
	w io.Writer

	mu  sync.Mutex
	err error // an *outputError
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	if err != nil {
		o.err = lost(err)
	}
	return n, o.err
}

// lostWith adds to the error of a command that of its output, if it has none of it yet.
func (o *output) lostWith(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err == nil || errors.As(err, new(*outputError)):
		return err
	case err == nil:
		return o.err
	}
	return errors.Join(err, o.err)
}

// outputError says that something did not get to stdout.
type outputError struct{ err error }

func lost(err error) error {
	if path, ok := err.(*fs.PathError); ok {
		err = path.Err
	}
	return &outputError{err}
}

func (e *outputError) Error() string { return "write to stdout: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// Hint says what to do about it.
func (e *outputError) Hint() string {
	return "check where stdout goes; what a run answered is kept: rath show @"
}

// unread reports whether err is nothing but a reader, such as a pager, that has seen
// enough.
func unread(err error) bool {
	out, ok := err.(*outputError)
	return ok && errors.Is(out.err, syscall.EPIPE)
}

// writeJSON writes one line of JSON to stdout.
func (a *app) writeJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
