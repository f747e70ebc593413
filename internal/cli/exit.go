package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/store"
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

// checkError says that what was checked is not right.
type checkError struct{ err error }

func (e *checkError) Error() string { return e.err.Error() }
func (e *checkError) Unwrap() error { return e.err }

// hinted adds a hint to an error that has none of its own.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }
func (e *hinted) Hint() string  { return e.hint }

// reworded says an error in other words.
type reworded struct {
	text string
	err  error
}

func (e *reworded) Error() string { return e.text }
func (e *reworded) Unwrap() error { return e.err }

func exitCode(err error) int {
	var use *usageError
	var model *llm.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &use):
		return exitUsage
	case errors.As(err, new(*run.Divergence)), errors.As(err, new(*checkError)):
		return exitCheck
	case errors.Is(err, run.ErrWaiting):
		return exitReview
	case errors.Is(err, flow.ErrBudgetExceeded):
		return exitBudget
	case unread(err):
		return exitUnread
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, new(*run.ReviewError)): // of a run that is not interrupted just now
		return exitReview
	case errors.As(err, &model) && model.Kind == llm.ErrAuth, errors.Is(err, memory.ErrUnauthorized):
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
	case errors.Is(err, store.ErrDamaged):
		return damagedHint
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, run.ErrTimedOut):
		return "allow more time with --timeout"
	}
	return ""
}

const damagedHint = "rath doctor looks for more; put a copy of the store in its place, or go on without this"

// problem is an error in JSON.
type problem struct {
	Message    string          `json:"message"`
	Hint       string          `json:"hint,omitempty"`
	ExitCode   int             `json:"exit_code"`
	Divergence *divergenceJSON `json:"divergence,omitempty"`
}

// divergenceJSON is where a replay parted from the record.
type divergenceJSON struct {
	Path     string `json:"path"`
	Kind     string `json:"kind"`
	Name     string `json:"name,omitempty"`
	Effect   int64  `json:"effect,omitempty"` // the recorded one that comes nearest
	Missing  bool   `json:"missing,omitempty"`
	Field    string `json:"field,omitempty"`
	Recorded string `json:"recorded,omitempty"`
	Asked    string `json:"asked,omitempty"`
}

func divergenceOf(err error) *divergenceJSON {
	var d *run.Divergence
	if !errors.As(err, &d) {
		return nil
	}
	out := &divergenceJSON{Path: d.Path, Kind: d.Kind, Name: d.Name, Missing: d.Missing, Field: d.Field, Recorded: d.Recorded, Asked: d.Asked}
	if d.Nearest != nil {
		out.Effect = d.Nearest.ID
	}
	return out
}

func problemOf(err error) *problem {
	if err == nil {
		return nil
	}
	return &problem{err.Error(), hintOf(err), exitCode(err), divergenceOf(err)}
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
