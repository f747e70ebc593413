package sqlitedb

import (
	"errors"

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

// Full reports whether the disk has no room left.
func Full(err error) bool {
	var native *driver.Error
	return errors.As(err, &native) && (code(err) == lib.SQLITE_FULL || native.Code() == lib.SQLITE_IOERR_SHMSIZE)
}

// Damaged reports whether the file is no longer, or never was, a database.
func Damaged(err error) bool {
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
