// Package sqlitedb is what those who keep something in a SQLite file have in common: how
// the file is made and opened, how its schema is brought up to date, how to wait for other
// processes, and what SQLite's errors mean.
package sqlitedb

import (
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	driver "modernc.org/sqlite"
)

// ErrNoFile says that there is something else than a file.
var ErrNoFile = errors.New("it is no regular file")

// Prepare makes the file, for the user alone, and its folder, unless they are there or
// only to be read. It never opens a file that is there already: closing it would take
// away the locks that this process may have on it (POSIX).
func Prepare(path string, readOnly bool) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return ErrNoFile
	}
	if err == nil || readOnly || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was quicker
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Pragmas of a connection. Reads wait in SQLite for a file that is locked for a moment,
// a writer waits by itself, with [UntilFree], and so sees when it is to stop. What it
// has committed survives the end of the machine's power.
var (
	ReaderPragmas = url.Values{"_busy_timeout": {"10000"}, "_pragma": {"query_only(1)"}}
	WriterPragmas = url.Values{
		"_busy_timeout": {"0"}, "_foreign_keys": {"1"}, "_synchronous": {"FULL"},
		"_pragma": {"cache_size(-16000)", "journal_size_limit(67108864)"},
	}
)

// Connect gives connections to a file. The mode is SQLite's: "mode=rw". Nothing is opened
// before it is used.
func Connect(path, mode string, pragmas url.Values) (*sql.DB, error) {
	path = filepath.ToSlash(path)
	if path[0] != '/' {
		path = "/" + path // of a Windows drive
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: mode + "&_error_rc=1&" + pragmas.Encode()}
	c, err := driver.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}
