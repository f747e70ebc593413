package registry

import (
	"errors"
	"fmt"
	"io/fs"
)

// Errors that an [Error] may wrap.
var (
	ErrNotFound = errors.New("there is no such sandbox")
	ErrTaken    = errors.New("there is a sandbox of that name")
	ErrName     = errors.New("that is no name for a sandbox")
	ErrDamaged  = errors.New("its file cannot be read")
)

// Error says what was attempted, and on what.
type Error struct {
	Op   string // "find sandbox", "remove sandbox", ...
	Name string // the sandbox's name or id, or a folder
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Name, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// Hint says what can be done about it, if anything.
func (e *Error) Hint() string {
	switch {
	case errors.Is(e.Err, ErrTaken):
		return "choose another name, or remove that one first"
	case errors.Is(e.Err, ErrName):
		return "a name has up to 63 letters, digits, dots, dashes and underscores, and begins with a letter or digit"
	case errors.Is(e.Err, ErrDamaged):
		return "correct the file, or remove the entry by its id"
	case errors.Is(e.Err, fs.ErrPermission):
		return "the folder and all in it must be yours to change"
	}
	return ""
}

// plain takes the path off an error where a better one is known.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) && err == error(p) {
		return p.Err
	}
	return err
}
