package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openrath-go/rath/llm"
	"github.com/spf13/cobra"
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
)

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: fmt.Sprintf(`The exit codes of rath:

  %-4d done
  %-4d failed
  %-4d wrong usage: an unknown command, flag or argument
  %-4d a check failed, or a replay diverged
  %-4d the model's server did not accept the key, or there is none
  %-4d a budget was used up
  %-4d a run needs a person's review
  %-4d interrupted with Ctrl-C; the session was saved as far as it got`,
			exitOK, exitFailed, exitUsage, exitCheck, exitAuth, exitBudget, exitReview, exitInterrupted),
	}
}

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
	switch {
	case errors.As(err, &h) && h.Hint() != "":
		return h.Hint()
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
	fmt.Fprintln(a.err, "rath: "+err.Error())
	if hint := hintOf(err); hint != "" {
		fmt.Fprintln(a.err, "hint: "+hint)
	}
	if a.asJSON && !errors.As(err, new(told)) {
		a.writeJSON(map[string]any{"error": problemOf(err)})
	}
}

// writeJSON writes one line of JSON to stdout.
func (a *app) writeJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
