package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/openrath-go/rath/memory/driver"
)

// Error says what failed.
type Error struct {
	Op    string // "recall", "write", ...
	On    string // a URI, a query, a file; may be empty
	Store string
	Err   error
}

func (e *Error) Error() string {
	on := e.On
	if on != "" {
		on = " " + on
	}
	return fmt.Sprintf("%s%s in memory %s: %v", e.Op, on, e.Store, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Kind is OpenRath's name for the kind of the error: invalid_uri, not_found, unauthorized,
// transport, unsupported or internal.
func (e *Error) Kind() string { return driver.KindOf(e.Err) }

// Hint says what the user can do about it, if anything.
func (e *Error) Hint() string {
	var h interface{ Hint() string }
	switch {
	case errors.As(e.Err, &h):
		return h.Hint()
	case errors.Is(e.Err, ErrInvalidURI):
		return "a URI looks like memory://user/memories/preferences/0a1b2c3d; the scopes are user, agent, session, resources"
	case errors.Is(e.Err, ErrUnauthorized):
		return "give the server's key in the configuration of the memory provider"
	}
	return ""
}

// recorded is an error as a journal keeps it: what it wraps is known again by its text.
type recorded struct {
	Op    string   `json:"op"`
	On    string   `json:"on,omitempty"`
	Store string   `json:"store"`
	Text  string   `json:"text"`
	Hint  string   `json:"hint,omitempty"`
	Kinds []string `json:"kinds,omitempty"`
}

var sentinels = []error{
	ErrInvalidURI, ErrInvalid, ErrNotFound, ErrExists, ErrUnauthorized, ErrTransport, ErrUnsupported, ErrConflict, ErrClosed,
	fs.ErrNotExist, fs.ErrExist, fs.ErrPermission,
}

// MarshalJSON writes the error for a journal.
func (e *Error) MarshalJSON() ([]byte, error) {
	r := recorded{Op: e.Op, On: e.On, Store: e.Store, Text: e.Err.Error(), Hint: e.Hint()}
	for _, kind := range sentinels {
		if errors.Is(e.Err, kind) {
			r.Kinds = append(r.Kinds, kind.Error())
		}
	}
	return json.Marshal(r)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Error) UnmarshalJSON(data []byte) error {
	var r recorded
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	again := &remembered{text: r.Text, hint: r.Hint}
	for _, kind := range sentinels {
		for _, text := range r.Kinds {
			if kind.Error() == text {
				again.kinds = append(again.kinds, kind)
			}
		}
	}
	*e = Error{Op: r.Op, On: r.On, Store: r.Store, Err: again}
	return nil
}

// remembered is an error read back.
type remembered struct {
	text  string
	hint  string
	kinds []error
}

func (r *remembered) Error() string   { return r.text }
func (r *remembered) Hint() string    { return r.hint }
func (r *remembered) Unwrap() []error { return r.kinds }

func unsupported(what string) error { return fmt.Errorf("%w: %s", ErrUnsupported, what) }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}
