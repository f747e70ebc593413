package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Native returns SQLite's own error in another, nil if there is none. The functions that
// tell its kind may be asked about any error.
func Native(err error) error {
	var native *driver.Error
	if errors.As(err, &native) {
		return native
	}
	return nil
}

// Busy reports whether another process has the file locked.
func Busy(err error) bool {
	switch code(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// Kinds are what the users of a file call what may be wrong with it.
type Kinds struct{ Full, Damaged error }

// Translate puts what SQLite's error means in front of it: one of kinds, or
// [fs.ErrPermission]. Other errors are left as they are.
func Translate(err error, kinds Kinds) error {
	var kind error
	switch {
	case Full(err):
		kind = kinds.Full
	case damaged(err):
		kind = kinds.Damaged
	case Unwritable(err):
		kind = fs.ErrPermission
	default:
		return err
	}
	return fmt.Errorf("%w (%w)", kind, err)
}

// Full reports whether the disk has no room left.
func Full(err error) bool {
	var native *driver.Error
	return errors.As(err, &native) && (code(err) == lib.SQLITE_FULL || native.Code() == lib.SQLITE_IOERR_SHMSIZE)
}

// damaged reports whether the file is no longer, or never was, a database.
func damaged(err error) bool {
	switch code(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return true
	}
	return false
}

// Unwritable reports whether the file or its folder may not be written.
func Unwritable(err error) bool {
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
