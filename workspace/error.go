package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Errors that an [Error] may wrap. One of the file system's is there as it is.
var (
	ErrNoGit    = errors.New("git is not installed")
	ErrOldGit   = errors.New("git is too old")
	ErrUnknown  = errors.New("no such snapshot")
	ErrCorrupt  = errors.New("the store is damaged")
	ErrNotEmpty = errors.New("the directory is not empty")
	ErrNoFork   = errors.New("no allowed way to fork works here")
	ErrBlocked  = errors.New("something that is no part of the snapshot is in the way")
	ErrTooLarge = errors.New("the directory is too large")
	ErrChanging = errors.New("the directory keeps changing")
)

// Error says what was attempted, and on what.
type Error struct {
	Op   string // "snapshot", "merge", ...
	Name string // the directory, snapshot or name
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
	switch {
	case errors.Is(e.Err, ErrNoGit), errors.Is(e.Err, ErrOldGit):
		return "install git 2.39 or later"
	case errors.Is(e.Err, ErrCorrupt):
		return "drop the names of snapshots that are damaged; new ones will be whole"
	case errors.Is(e.Err, ErrUnknown):
		return "snapshots that nothing keeps are removed after a while"
	case errors.Is(e.Err, ErrNotEmpty):
		return "name a directory that is empty or does not exist"
	case errors.Is(e.Err, ErrNoFork):
		return "allow copies, or run where overlayfs can be mounted"
	case errors.Is(e.Err, ErrBlocked):
		return "move away what is there; ignored and special files are not removed"
	case errors.Is(e.Err, ErrTooLarge):
		return "work in a smaller directory, or have .gitignore or the store's options leave out what need not be kept"
	case errors.Is(e.Err, ErrChanging):
		return "try again when nothing else writes there"
	case errors.Is(e.Err, syscall.ENOSPC):
		return "the disk is full; nothing was changed that cannot be done again"
	case errors.Is(e.Err, fs.ErrPermission):
		return "let it be read, or have it left out"
	}
	return ""
}

// ConflictError is an Apply that was not done, because the directory has changed in the
// same places.
type ConflictError struct{ Conflicts []Conflict }

func (e *ConflictError) Error() string {
	if len(e.Conflicts) == 1 {
		return fmt.Sprintf("conflict (%s) in %q", e.Conflicts[0].Kind, e.Conflicts[0].Path)
	}
	return fmt.Sprintf("%d conflicts, the first (%s) in %q", len(e.Conflicts), e.Conflicts[0].Kind, e.Conflicts[0].Path)
}

// wrap wraps an error once.
func wrap(op, name string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &Error{op, name, err}
}
