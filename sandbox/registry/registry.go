// Package registry keeps what is known of sandboxes that outlive the program that made
// them, so that another one finds them again under their name.
//
// The entries are files in OpenRath's home, in OpenRath's own form: sandboxes/local/ID/ is
// the workspace of a local sandbox, and sandboxes/BACKEND/ID.json says what else is known,
// as it does for sandboxes that are kept elsewhere. What OpenRath has put there is found
// too, without a name, and members that are not known here stay in the files.
//
// The registry opens no sandbox and ends none: that is what drivers do.
//
// Next: [github.com/openrath-go/rath/tool/builtin], the tools that are there already.
package registry

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/rogpeppe/go-internal/lockedfile"
)

// local is the backend whose sandboxes are directories of this machine.
const local = "local"

// Registry is a folder of entries. It holds nothing open, and is safe for concurrent use,
// by several processes too.
type Registry struct{ dir string }

// New returns the registry in a folder, "sandboxes" in OpenRath's home. The first entry
// makes it.
func New(dir string) *Registry { return &Registry{dir} }

// Entry is what is known of one sandbox.
type Entry struct {
	ID      string // a UUID
	Name    string // empty: OpenRath made it, which gives no names
	Backend string // its driver: "local", "docker", "opensandbox"
	Remote  string // the driver's id of it; empty for a local one
	// Spec is what it was made of. The working directory of a local one is its workspace.
	Spec    driver.Spec
	Policy  driver.Policy // that it was made with
	Owned   bool          // the workspace is the registry's, and goes with the entry
	Created time.Time
	Used    time.Time // when it was opened last
	// Problem is why the entry cannot be read. Then only ID and Backend are known, and the
	// workspace that the registry owns.
	Problem error

	folder string // that its file is in: OpenRath keeps those of all servers in one
}

// List returns all entries, the oldest first. A registry that is not there has none.
func (r *Registry) List() ([]Entry, error) {
	backends, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{"list", r.dir, plain(err)}
	}
	var all []Entry
	for _, b := range backends {
		if !b.IsDir() {
			continue
		}
		some, err := r.listFolder(b.Name())
		if err != nil {
			return nil, &Error{"list", filepath.Join(r.dir, b.Name()), plain(err)}
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b Entry) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

func (r *Registry) listFolder(folder string) ([]Entry, error) {
	files, err := os.ReadDir(filepath.Join(r.dir, folder))
	if err != nil {
		return nil, err
	}
	ids := make(map[string]bool)
	for _, f := range files {
		id, isRecord := strings.CutSuffix(f.Name(), suffix)
		if isID(id) && (isRecord || folder == local && f.IsDir()) {
			ids[id] = true
		}
	}
	var entries []Entry
	for id := range ids {
		e, err := r.read(folder, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since
		}
		if err != nil {
			e = r.damaged(folder, id, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// damaged is the entry of a file that cannot be read. A local workspace is the registry's
// by where it is, whatever the file says.
func (r *Registry) damaged(folder, id string, problem error) Entry {
	e := Entry{ID: id, Backend: folder, Problem: problem, folder: folder}
	if dir := r.workspace(id); folder == local && isDir(dir) {
		e.Owned, e.Spec.WorkingDir = true, dir
	}
	return e
}

func isDir(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}

// isID reports whether a text is a UUID as files are named by.
func isID(text string) bool {
	id, err := uuid.Parse(text)
	return err == nil && id.String() == text
}

// Find returns the entry of a name, or else of an id or of its beginning. One that cannot
// be read comes with the error.
func (r *Registry) Find(text string) (Entry, error) {
	all, err := r.List()
	if err != nil {
		return Entry{}, err
	}
	e, err := find(all, text)
	if err != nil {
		return e, &Error{"find sandbox", text, err}
	}
	return e, nil
}

// shortest is the least of an id that may be given for it.
const shortest = 4

func find(all []Entry, text string) (Entry, error) {
	var like []Entry
	for _, e := range all {
		switch {
		case text != "" && e.Name == text, e.ID == text:
			return e, e.Problem
		case len(text) >= shortest && strings.HasPrefix(e.ID, text):
			like = append(like, e)
		}
	}
	switch len(like) {
	case 0:
		return Entry{}, ErrNotFound
	case 1:
		return like[0], like[0].Problem
	}
	return Entry{}, fmt.Errorf("%d ids begin so", len(like))
}

// names are those that an entry can have.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// CheckName says whether an entry could get a name: whether it is one, and is free.
func (r *Registry) CheckName(name string) error {
	if !names.MatchString(name) || isID(strings.ToLower(name)) {
		return &Error{"name sandbox", name, ErrName}
	}
	all, err := r.List()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(e Entry) bool { return e.Name == name }) {
		return &Error{"name sandbox", name, ErrTaken}
	}
	return nil
}

// Add keeps a new entry, and returns it with its id and times. A local one that names no
// working directory gets one of its own.
func (r *Registry) Add(e Entry) (Entry, error) {
	unlock, err := r.lock(e.Backend)
	if err != nil {
		return Entry{}, &Error{"keep sandbox", e.Name, err}
	}
	defer unlock()
	if err := r.CheckName(e.Name); err != nil {
		return Entry{}, err
	}
	e.ID, e.Created = uuid.Must(uuid.NewV7()).String(), time.Now()
	e.Used, e.folder = e.Created, e.Backend
	e.Owned = e.Backend == local && e.Spec.WorkingDir == ""
	if e.Owned {
		e.Spec.WorkingDir = r.workspace(e.ID)
		err = os.Mkdir(e.Spec.WorkingDir, 0o700)
	}
	if err == nil {
		err = r.save(e.folder, recordOf(e))
	}
	if err != nil {
		return Entry{}, &Error{"keep sandbox", e.Name, err}
	}
	return e, nil
}

// Touch notes that a sandbox is used now.
func (r *Registry) Touch(e Entry) error {
	unlock, err := r.lock(e.folder)
	if err != nil {
		return &Error{"note the use of sandbox", e.Name, err}
	}
	defer unlock()
	rec, err := r.load(e.folder, e.ID)
	if errors.Is(err, fs.ErrNotExist) && e.Owned {
		return nil // OpenRath made the directory, and nothing else
	}
	if err == nil {
		rec.LastUsedAt = isoFormat(time.Now())
		err = r.save(e.folder, rec)
	}
	if err != nil {
		return &Error{"note the use of sandbox", e.Name, plain(err)}
	}
	return nil
}

// Remove forgets an entry. The workspace goes with it, if the registry owns that: first
// the workspace, so that what was interrupted can be done again.
func (r *Registry) Remove(e Entry) error {
	unlock, err := r.lock(e.folder)
	if err != nil {
		return &Error{"remove sandbox", e.ID, err}
	}
	defer unlock()
	if e.Owned {
		err = os.RemoveAll(r.workspace(e.ID))
	}
	if err == nil {
		err = os.Remove(r.file(e.folder, e.ID))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &Error{"remove sandbox", e.ID, err}
	}
	return nil
}

// lock keeps other writers out, and clears away what one that was killed has left.
func (r *Registry) lock(folder string) (unlock func(), err error) {
	dir := filepath.Join(r.dir, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err = lockedfile.MutexAt(filepath.Join(r.dir, "lock")).Lock()
	if err != nil {
		return nil, err
	}
	left, _ := filepath.Glob(filepath.Join(dir, temporary+"*")) // the pattern is sound
	for _, name := range left {
		_ = os.Remove(name)
	}
	return unlock, nil
}
