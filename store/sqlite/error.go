package sqlite

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/store"
)

// ErrFull says that the disk has no room left. Nothing is lost; the store goes on once
// there is room again.
var ErrFull = errors.New("the disk is full")

// ErrReadOnly says that a store that was opened read only was to be written.
var ErrReadOnly = errors.New("the store is open for reading only")

var errDamaged = fmt.Errorf("it is damaged, or no store at all: %w", store.ErrDamaged)

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
	{sqlitedb.ErrForeign, "choose another file"},
	{sqlitedb.ErrNoFile, "choose another file"},
	{sqlitedb.ErrLocked, "end the process that holds it, or try again later"},
	{sqlitedb.ErrOlder, "open it once for writing"},
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
	native := sqlitedb.Native(err)
	if native != nil {
		err = sqlitedb.Translate(native, sqlitedb.Kinds{Full: ErrFull, Damaged: errDamaged})
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
