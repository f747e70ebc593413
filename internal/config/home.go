// Package config finds and reads OpenRath's home: config.json, credentials.json, and the
// environment variables that stand above them.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Env looks up an environment variable; it is injected so that tests need no real one.
type Env func(name string) string

// What may choose the home.
const (
	originEnv     = "OPENRATH_HOME"
	originWorkDir = "./.openrath"
	originUser    = "~/.openrath"
)

// Home returns the OpenRath home and what chose it: $OPENRATH_HOME, ./.openrath where
// that is a folder, or ~/.openrath. It need not exist.
func Home(env Env) (dir, origin string, err error) {
	if dir := env("OPENRATH_HOME"); dir != "" {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return "", "", &Error{File: dir, Err: errors.New("OPENRATH_HOME is not a folder"), hint: "set OPENRATH_HOME to a folder, or unset it"}
		}
		dir, err := filepath.Abs(dir)
		return dir, originEnv, err
	}
	user, userErr := userHome(env)
	if here, err := os.Stat(".openrath"); err == nil && here.IsDir() {
		if own, err := os.Stat(user); userErr == nil && err == nil && os.SameFile(here, own) {
			return user, originUser, nil
		}
		dir, err := filepath.Abs(".openrath")
		return dir, originWorkDir, err
	}
	if userErr != nil {
		return "", "", &Error{File: originUser, Err: userErr, hint: "set OPENRATH_HOME to a folder"}
	}
	return user, originUser, nil
}

func userHome(env Env) (string, error) {
	user := env("HOME")
	if user == "" {
		var err error
		if user, err = os.UserHomeDir(); err != nil {
			return "", err
		}
	}
	return filepath.Join(user, ".openrath"), nil
}

// Error says what is wrong with a file of the home.
type Error struct {
	File   string
	Line   int // 0: not known
	Column int
	Key    string // dotted; empty: the file as a whole
	Err    error
	hint   string
}

func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	if e.Key != "" {
		where += ": " + e.Key
	}
	return fmt.Sprintf("config %s: %v", where, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *Error) Hint() string {
	switch {
	case e.hint != "":
		return e.hint
	case errors.Is(e.Err, fs.ErrPermission):
		return "make " + filepath.Dir(e.File) + " writable, or choose another with OPENRATH_HOME"
	case e.Line > 0:
		return "correct the file there, or move it away to begin anew"
	case errors.As(e.Err, new(*fs.PathError)):
		return "choose another home with OPENRATH_HOME"
	}
	return ""
}
