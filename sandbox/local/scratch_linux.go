package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// scratch is what commands have instead of the user's home and temporary folder, for as
// long as the sandbox is open.
type scratch struct {
	dir  string
	lock *os.File // held while it is in use
}

const scratchPrefix = "rath-sandbox-"

func newScratch() (*scratch, error) {
	base, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("find the temporary folder: %w", err)
	}
	sweepScratch(base)
	for {
		dir, err := os.MkdirTemp(base, scratchPrefix)
		if err != nil {
			return nil, &scratchError{base, plain(err)}
		}
		lock, err := lockDir(dir)
		if err != nil {
			continue // another program took it for a leftover
		}
		s := &scratch{dir, lock}
		for _, name := range []string{s.home(), s.tmp(), s.etc()} {
			if err := os.Mkdir(name, 0o700); err != nil {
				s.close()
				return nil, fmt.Errorf("make a temporary folder: %w", err)
			}
		}
		return s, nil
	}
}

// scratchError is that no temporary folder could be made.
type scratchError struct {
	base string
	err  error
}

func (e *scratchError) Error() string {
	return fmt.Sprintf("make a temporary folder in %s: %v", e.base, e.err)
}

func (e *scratchError) Unwrap() error { return e.err }

// Hint says what to do about it.
func (e *scratchError) Hint() string { return "set TMPDIR to a folder that you may write to" }

// settings makes a folder with copies of the system's settings. A mount for each of so
// many small files would be the most of what a command costs. It returns the folders
// among them, which are left empty for a mount.
func (s *scratch) settings() (dirs []string, err error) {
	for _, name := range systemPaths() {
		if !within(name, "/etc") {
			continue
		}
		data, err := os.ReadFile(name)
		to := filepath.Join(s.dir, name)
		switch {
		case errors.Is(err, unix.EISDIR):
			dirs = append(dirs, name)
			err = os.MkdirAll(to, 0o755)
		case err != nil:
			continue // it is not there, or not for this user
		default:
			err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644))
		}
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return dirs, nil
}

func (s *scratch) etc() string  { return filepath.Join(s.dir, "etc") }
func (s *scratch) home() string { return filepath.Join(s.dir, "home") }
func (s *scratch) tmp() string  { return filepath.Join(s.dir, "tmp") }

// close removes it. What stays nonetheless is swept by a later program.
func (s *scratch) close() {
	if os.RemoveAll(s.dir) != nil {
		s.unlock()
		_ = os.RemoveAll(s.dir)
	}
	_ = s.lock.Close()
}

// unlock makes the folders accessible that a command has made inaccessible to its own
// user. Links that it left are not followed out.
func (s *scratch) unlock() {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return
	}
	defer root.Close()
	_ = filepath.WalkDir(s.dir, func(name string, d fs.DirEntry, _ error) error {
		rel, err := filepath.Rel(s.dir, name)
		if err == nil && d != nil && d.IsDir() {
			_ = root.Chmod(rel, 0o700)
		}
		return nil
	})
}

// sweepScratch removes what programs that were killed have left: nobody locks it.
func sweepScratch(base string) (removed []string) {
	left, _ := filepath.Glob(filepath.Join(base, scratchPrefix+"*")) // the pattern is sound
	for _, dir := range left {
		lock, err := lockDir(dir)
		if err != nil {
			continue
		}
		(&scratch{dir, lock}).close()
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			removed = append(removed, dir)
		}
	}
	return removed
}

// lockDir locks a folder of this user, unless someone does.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
		err = os.ErrPermission
	}
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		_, err = os.Lstat(dir) // it may be gone since it was opened
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
