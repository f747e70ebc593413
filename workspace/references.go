package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// references reads and writes those of the repository as git does: each in a file of its
// own, and what git has packed in a list of all, sorted, which counts where there is no
// file. Whoever changes them must be the only one.
type references struct {
	dir     string                               // the GIT_DIR
	replace func(name string, data []byte) error // writes a file as a whole or not at all
}

const packedName = "packed-refs"

func (r *references) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// set has a reference name an object.
func (r *references) set(name string, id ID) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := r.room(name); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o700); err != nil {
		return err
	}
	return r.replace(r.path(name), []byte(id+"\n"))
}

// room fails where a reference is above or below another, and makes way where only empty
// directories are left of one.
func (r *references) room(name string) error {
	packed, err := r.packed()
	if err != nil {
		return err
	}
	for d := parent(name); d != ""; d = parent(d) {
		info, err := os.Lstat(r.path(d))
		if err == nil && !info.IsDir() || bytes.Contains(packed, []byte(" "+d+"\n")) {
			return fmt.Errorf("%q is a name itself", d)
		}
	}
	below, err := r.list(name)
	delete(below, name)
	if err != nil {
		return err
	}
	if len(below) > 0 {
		return fmt.Errorf("there are names below %q", name)
	}
	if info, err := os.Lstat(r.path(name)); err == nil && info.IsDir() {
		return os.RemoveAll(r.path(name))
	}
	return nil
}

// drop removes a reference. The packed one goes first, so that it never counts again.
func (r *references) drop(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	packed, err := r.packed()
	if err != nil {
		return err
	}
	if rest := without(packed, name); len(rest) < len(packed) {
		if err := r.replace(r.path(packedName), rest); err != nil {
			return err
		}
	}
	err = os.Remove(r.path(name))
	if isNothing(err) || isNotEmpty(err) { // a directory: other names begin with this one
		return nil
	}
	for d := parent(name); err == nil && d+"/" != refs; d = parent(d) {
		if os.Remove(r.path(d)) != nil {
			break // something else is in it
		}
	}
	return err
}

// isNothing reports a file that is not there, nor could be.
func isNothing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// packed is the list of packed references: lines "object name", others with "#" or "^".
func (r *references) packed() ([]byte, error) {
	data, err := os.ReadFile(r.path(packedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// without leaves out a line, and what belongs to it.
func without(packed []byte, name string) (rest []byte) {
	skip := false
	for line := range bytes.Lines(packed) {
		_, has, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		if line[0] != '^' {
			skip = line[0] != '#' && string(has) == name
		}
		if !skip {
			rest = append(rest, line...)
		}
	}
	return rest
}

// list returns a reference and those below it. What is none, since the machine went down
// before it was on disk, is left out.
func (r *references) list(prefix string) (map[string]ID, error) {
	all := make(map[string]ID)
	err := r.each(prefix, func(name string, id ID) error {
		if id != "" {
			all[name] = id
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	packed, err := r.packed()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(packed)) {
		text, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		id, err := ParseID(text)
		if _, loose := all[name]; err == nil && !loose && (name == prefix || strings.HasPrefix(name, prefix+"/")) {
			all[name] = id
		}
	}
	return all, nil
}

// each calls f for the files of references, without an id for one that is none.
func (r *references) each(prefix string, f func(name string, id ID) error) error {
	return filepath.WalkDir(r.path(prefix), func(p string, d fs.DirEntry, err error) error {
		var data []byte
		if err == nil && !d.IsDir() {
			data, err = os.ReadFile(p)
		}
		if isNothing(err) {
			return nil // it was dropped meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(r.dir, p)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		id, err := ParseID(strings.TrimSuffix(string(data), "\n"))
		if err != nil || checkName(name) != nil {
			id = ""
		}
		return f(name, id)
	})
}

// sweep removes what a git that was killed left, and references that are none.
func (r *references) sweep() error {
	for _, left := range []string{".lock", ".new"} {
		if err := os.Remove(r.path(packedName + left)); err != nil && !isNothing(err) {
			return err
		}
	}
	return r.each("refs", func(name string, id ID) error {
		if id != "" {
			return nil
		}
		return os.Remove(r.path(name))
	})
}
