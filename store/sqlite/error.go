package sqlite

import (
	"errors"
	"fmt"
	"io/fs"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/openrath-go/rath/store"
)

// ErrFull says that the disk has no room left. Nothing is lost; the store goes on once
// there is room again.
var ErrFull = errors.New("the disk is full")

// ErrReadOnly says that a store that was opened read only was to be written.
var ErrReadOnly = errors.New("the store is open for reading only")

var (
	errNoFile  = errors.New("it is no regular file")
	errForeign = errors.New("it is the database of another program")
	errOlder   = errors.New("it is of an older version, and is to be read only")
	errLocked  = errors.New("another process has it locked")
	errDamaged = fmt.Errorf("it is damaged, or no store at all: %w", store.ErrDamaged)
)

// Error says what is wrong with a store's file.
type Error struct {
	Path string
	Err  error
	hint string
}

func (e *Error) Error() string { return fmt.Sprintf("store %s: %v", e.Path, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *Error) Hint() string { return e.hint }

// hints are for the kinds of error that have to do with the file.
var hints = []struct {
	err  error
	hint string
}{
	{store.ErrNewer, "install a newer rath; the file was left as it is"},
	{store.ErrDamaged, "move the file away and begin a new store, or put a copy in its place"},
	{ErrFull, "make room on the disk, then try again: what was kept before is safe"},
	{ErrReadOnly, "open the store for writing"},
	{errForeign, "choose another file"},
	{errNoFile, "choose another file"},
	{errLocked, "end the process that holds it, or try again later"},
	{errOlder, "open it once for writing"},
	{fs.ErrPermission, "make the file and its folder writable, or choose another"},
	{fs.ErrNotExist, "check the path"},
}

// explain makes an error about the file one that names it. Others are left as they are.
func explain(path string, err error) error {
	if named := (*Error)(nil); errors.As(err, &named) {
		return err
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err // the path is named already
	}
	var native *driver.Error
	if errors.As(err, &native) {
		err = translate(native)
	}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return &Error{path, err, h.hint}
		}
	}
	if native != nil || p != nil {
		return &Error{path, err, "check the disk that holds the file"}
	}
	return err
}

func translate(err *driver.Error) error {
	var kind error
	switch {
	case code(err) == lib.SQLITE_FULL, err.Code() == lib.SQLITE_IOERR_SHMSIZE:
		kind = ErrFull
	case code(err) == lib.SQLITE_CORRUPT, code(err) == lib.SQLITE_NOTADB:
		kind = errDamaged
	case unwritable(err):
		kind = fs.ErrPermission
	default:
		return err
	}
	return fmt.Errorf("%w (%w)", kind, err)
}

// busy reports whether another process has the file locked.
func busy(err error) bool {
	switch code(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// unwritable reports whether the file or its folder may not be written.
func unwritable(err error) bool {
	switch code(err) {
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return true
	}
	return false
}

// code is SQLite's number of an error, without its details; 0 for other errors.
func code(err error) int {
	var native *driver.Error
	if !errors.As(err, &native) {
		return 0
	}
	return native.Code() & 0xff
}
