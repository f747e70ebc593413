// Package driver is what a sandbox driver implements. Users of sandboxes need only the
// package above.
//
// Drivers return plain errors, or those below wrapped; the portable type adds what was
// attempted on what.
//
// Next: [github.com/openrath-go/rath/sandbox/sandboxtest], the rules that it has to keep.
package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Errors that drivers wrap. A missing file is [fs.ErrNotExist].
var (
	ErrClosed      = errors.New("the sandbox is closed")
	ErrEscape      = errors.New("the path leaves the workspace")
	ErrUnsupported = errors.New("not supported by this sandbox")
	ErrNotRegular  = errors.New("not a regular file")
	ErrHidden      = fmt.Errorf("the sandbox hides it: %w", fs.ErrPermission)
)

// Sandbox is one open environment. It must be safe for concurrent use.
type Sandbox interface {
	Describer
	Commander
	Files
	// Close ends all that still runs. No call follows it.
	Close() error
}

// Describer says what the environment is.
type Describer interface {
	Placement() Placement
	Capabilities() Capabilities
	Policy() Policy
}

// Commander runs programs. A program that fails is a result, not an error.
type Commander interface {
	Exec(ctx context.Context, c Command) (Result, error)
	RunCode(ctx context.Context, c Code) (CodeResult, error)
}

// Files reaches the workspace. Names are slash paths relative to its root, or absolute
// ones inside it; a name that leads outside is ErrEscape, one that leads to what the
// sandbox keeps to itself ErrHidden.
type Files interface {
	// Canonical returns the relative name with symbolic links resolved as far as they
	// exist.
	Canonical(name string) (string, error)
	// Read returns at most max bytes from offset on, and the file's whole size.
	Read(ctx context.Context, name string, offset int64, max int) (data []byte, size int64, err error)
	// Write replaces a file as a whole or not at all, and makes its folders. It refuses one
	// that may only be read.
	Write(ctx context.Context, name string, data []byte) error
	// List returns the entries of a folder, sorted by name.
	List(ctx context.Context, name string) ([]Entry, error)
	// Stat describes the file that a name leads to.
	Stat(ctx context.Context, name string) (Entry, error)
	// Remove deletes a file, or a folder with all in it.
	Remove(ctx context.Context, name string) error
}
