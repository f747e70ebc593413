package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/llm"
)

// The exit codes of the command.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitCheck       = 3
	exitAuth        = 4
	exitBudget      = 5
	exitReview      = 6
	exitInterrupted = 130
	exitUnread      = 141
)

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

// hinted adds a hint to an error that has none of its own.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }
func (e *hinted) Hint() string  { return e.hint }

func exitCode(err error) int {
	var use *usageError
	var model *llm.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &use):
		return exitUsage
	case unread(err):
		return exitUnread
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &model) && model.Kind == llm.ErrAuth:
		return exitAuth
	}
	return exitFailed
}

func hintOf(err error) string {
	var h interface{ Hint() string }
	var use *usageError
	var model *llm.Error
	switch {
	case errors.As(err, &h) && h.Hint() != "":
		return h.Hint()
	case errors.As(err, &model) && strings.HasPrefix(model.Model, "scripted:"):
		return "the script says what this model does: add a reply, or take the error out"
	case errors.As(err, &use):
		return "rath --help, or rath COMMAND --help"
	case errors.Is(err, context.DeadlineExceeded):
		return "allow more time with --timeout"
	}
	return ""
}

// problem is an error in JSON.
type problem struct {
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	ExitCode int    `json:"exit_code"`
}

func problemOf(err error) *problem {
	if err == nil {
		return nil
	}
	return &problem{err.Error(), hintOf(err), exitCode(err)}
}

// told marks an error whose JSON the command has written already.
type told struct{ error }

func (e told) Unwrap() error { return e.error }

// report tells the user of an error: what failed and why, then what to do about it.
func (a *app) report(err error) {
	if unread(err) {
		return
	}
	fmt.Fprintln(a.err, "rath: "+printable(err.Error()))
	if hint := hintOf(err); hint != "" {
		fmt.Fprintln(a.err, "hint: "+printable(hint))
	}
	if a.asJSON && !errors.As(err, new(told)) {
		_ = a.writeJSON(map[string]any{"error": problemOf(err)}) // stderr has it
	}
}
