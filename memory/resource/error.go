package resource

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"

	"github.com/openrath-go/rath/memory/driver"
)

// Skipped says why a file of a folder was not read.
type Skipped struct {
	Name string // relative to the folder
	Err  error
}

func (s *Skipped) Error() string { return fmt.Sprintf("skip %s: %v", s.Name, s.Err) }
func (s *Skipped) Unwrap() error { return s.Err }

// Refused says that an address was not fetched, because of where it leads. It is a
// [driver.ErrInvalid].
type Refused struct {
	URL  string     // without user and password
	Addr netip.Addr // that a connection would have been made to; invalid: the URL itself is refused
	Why  string
}

func (r *Refused) Error() string {
	if !r.Addr.IsValid() {
		return fmt.Sprintf("refuse to fetch %s: %s", r.URL, r.Why)
	}
	return fmt.Sprintf("refuse to fetch %s: %s is %s", r.URL, r.Addr, r.Why)
}

func (r *Refused) Unwrap() error { return driver.ErrInvalid }

// Hint says what can be done about it.
func (r *Refused) Hint() string {
	if !r.Addr.IsValid() {
		return ""
	}
	return "allow its host, if what it serves may be read"
}

// failure is an error of one of the driver's kinds that says what happened in its own words.
type failure struct{ err, kind error }

func (f *failure) Error() string   { return f.err.Error() }
func (f *failure) Unwrap() []error { return []error{f.err, f.kind} }

func failed(kind error, format string, args ...any) error {
	return &failure{fmt.Errorf(format, args...), kind}
}

// fileError gives an error of the file system, which names the file, the kind that it has.
func fileError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &failure{err, driver.ErrNotFound}
	case errors.Is(err, fs.ErrPermission):
		return &failure{err, driver.ErrInvalid}
	}
	return err
}
