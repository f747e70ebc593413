package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/memory/driver"
)

// What is wrong with a file, beside [fs.ErrPermission].
var (
	// ErrFull says that the disk has no room left. Nothing is lost; the memory goes on
	// once there is room again.
	ErrFull    = errors.New("the disk is full")
	ErrNewer   = errors.New("it was made by a newer version")
	ErrDamaged = errors.New("it is damaged, or no memory at all")
)

// Error says what is wrong with a memory's file.
type Error struct {
	Path string
	Err  error
	hint string
}

func (e *Error) Error() string { return fmt.Sprintf("memory %s: %v", e.Path, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *Error) Hint() string { return e.hint }

// hints are for the kinds of error that have to do with the file.
var hints = []struct {
	err  error
	hint string
}{
	{ErrNewer, "install a newer rath; the file was left as it is"},
	{ErrDamaged, "move the file away and begin a new memory, or put a copy in its place"},
	{ErrFull, "make room on the disk, then try again: what was kept before is safe"},
	{sqlitedb.ErrForeign, "choose another folder"},
	{sqlitedb.ErrNoFile, "choose another folder"},
	{sqlitedb.ErrLocked, "end the process that holds it, or try again later"},
	{fs.ErrPermission, "make the file and its folder writable, or choose another"},
	{fs.ErrNotExist, "check the path"},
}

// explain makes an error about the file one that names it. Others are left as they are.
func explain(ctx context.Context, path string, err error) error {
	var named *Error
	if err == nil || errors.As(err, &named) || errors.Is(err, driver.ErrClosed) {
		return err
	}
	var p *fs.PathError
	isPath := errors.As(err, &p)
	if isPath {
		err = p.Err // the path is named already
	}
	err = sqlitedb.Translate(err, sqlitedb.Kinds{Full: ErrFull, Damaged: ErrDamaged})
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return &Error{path, err, h.hint}
		}
	}
	if ctx.Err() != nil && (sqlitedb.Native(err) != nil || errors.Is(err, ctx.Err())) {
		return context.Cause(ctx) // rather than that SQLite was interrupted
	}
	if sqlitedb.Native(err) != nil || isPath {
		return &Error{path, err, "check the disk that holds the file"}
	}
	return err
}
