package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
)

// Error says what was attempted in a sandbox, and on what.
type Error struct {
	Op   string // "read", "exec", ...
	Name string // the file or language, where there is one
	Err  error
}

func (e *Error) Error() string {
	if e.Name == "" {
		return e.Op + ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s %s: %v", e.Op, e.Name, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Hint says what can be done about it, if anything.
func (e *Error) Hint() string {
	var h interface{ Hint() string }
	switch {
	case errors.As(e.Err, &h):
		return h.Hint()
	case errors.Is(e.Err, ErrEscape):
		return "only paths inside the workspace can be reached"
	case errors.Is(e.Err, ErrHidden):
		return "the file may hold keys; go on without it"
	case errors.Is(e.Err, fs.ErrNotExist):
		return "paths are relative to the workspace"
	}
	return ""
}

// wrap wraps an error once. The path of an [fs.PathError] is the driver's own business:
// only what went wrong is kept of it.
func wrap(op, name string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	if p, ok := err.(*fs.PathError); ok {
		err = p.Err
	}
	return &Error{op, name, err}
}
