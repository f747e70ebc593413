package jsonl

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openrath-go/rath/session"
)

// Dir is a folder of session files.
type Dir string

// Info is a session file at a glance.
type Info struct {
	ID       session.ID
	Partial  bool // not finished: still being made, or left by a crash
	Path     string
	modified int64
}

// ErrNotFound is returned where no session has the id.
var ErrNotFound = errors.New("no such session")

// AmbiguousError lists the sessions whose ids begin alike.
type AmbiguousError struct {
	Prefix string
	IDs    []session.ID
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("session %q: %d ids begin so", e.Prefix, len(e.IDs))
}

// Hint shows some of them.
func (e *AmbiguousError) Hint() string {
	var ids []string
	for _, id := range e.IDs[:min(len(e.IDs), 5)] {
		ids = append(ids, id.String())
	}
	return "give more of it: " + strings.Join(ids, ", ")
}

// List returns the sessions, the newest last. It opens no file. A folder that is not
// there has no sessions.
func (d Dir) List() ([]Info, error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var infos []Info
	for _, e := range entries {
		name, partial := strings.CutSuffix(e.Name(), Partial)
		if !partial {
			var ok bool
			if name, ok = strings.CutSuffix(e.Name(), Suffix); !ok {
				continue
			}
		}
		id, err := session.ParseID(name)
		if err != nil {
			continue // not ours
		}
		info := Info{ID: id, Partial: partial, Path: filepath.Join(string(d), e.Name())}
		if stat, err := e.Info(); err == nil {
			info.modified = stat.ModTime().UnixNano()
		}
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.modified, b.modified), slices.Compare(a.ID[:], b.ID[:]))
	})
	return infos, nil
}

// Find returns the session of an id, of a unique beginning of one, or for "@" the
// newest that has a header: what something else left in the folder is passed over.
func (d Dir) Find(id string) (Info, error) {
	if id == "@" {
		infos, err := d.List()
		if err != nil {
			return Info{}, err
		}
		for _, info := range slices.Backward(infos) {
			if hasHeader(info.Path) {
				return info, nil
			}
		}
	}
	found, err := d.FindAll(id)
	if err != nil {
		return Info{}, err
	}
	switch len(found) {
	case 0:
		return Info{}, fmt.Errorf("session %q: %w in %s", id, ErrNotFound, d)
	case 1:
		return found[0], nil
	}
	if found[0].ID == found[len(found)-1].ID { // a finished file and the rest of a crash
		i := slices.IndexFunc(found, func(i Info) bool { return !i.Partial })
		return found[max(i, 0)], nil
	}
	e := &AmbiguousError{Prefix: id}
	for _, info := range found {
		e.IDs = append(e.IDs, info.ID)
	}
	return Info{}, e
}

// FindAll returns the sessions whose ids begin so, a finished one and the rest of a crash
// both, the newest last.
func (d Dir) FindAll(prefix string) (found []Info, err error) {
	infos, err := d.List()
	if err != nil || prefix == "" {
		return nil, err
	}
	for _, info := range infos {
		if strings.HasPrefix(info.ID.String(), strings.ToLower(prefix)) {
			found = append(found, info)
		}
	}
	return found, nil
}

// Load reads a session. Its ancestors come with it as far as their files are here.
func (d Dir) Load(id string) (session.Session, error) { return d.load(id, (*File).Session) }

// Import is Load for sessions that are to be kept elsewhere: see [File.Import].
func (d Dir) Import(id string) (session.Session, error) { return d.load(id, (*File).Import) }

func (d Dir) load(id string, restore restorer) (session.Session, error) {
	info, err := d.Find(id)
	if err != nil {
		return session.Session{}, err
	}
	return loader{dir: d, restore: restore, known: map[session.ID]session.Session{}}.load(info)
}

// restorer makes the session of a file.
type restorer func(f *File, parents ...session.Session) (session.Session, error)

// loader reads each file once.
type loader struct {
	dir     Dir
	restore restorer
	known   map[session.ID]session.Session
}

// load reads a session and its ancestors, parents first, without recursion: lineages can
// be long.
func (l loader) load(info Info) (session.Session, error) {
	first, err := Open(info.Path)
	if err != nil {
		return session.Session{}, err
	}
	files := map[session.ID]*File{info.ID: first}
	for stack := []session.ID{info.ID}; len(stack) > 0; {
		id := stack[len(stack)-1]
		f := files[id]
		if missing := l.missing(f, files); len(missing) > 0 {
			stack = append(stack, missing...)
			continue
		}
		stack = stack[:len(stack)-1]
		if _, ok := l.known[id]; ok || f == nil {
			continue
		}
		s, err := l.restore(f, l.parents(f)...)
		if err != nil && id == info.ID {
			return s, fmt.Errorf("read session %s: %w", info.Path, err)
		}
		if err == nil {
			l.known[id] = s
		}
	}
	return l.known[info.ID], nil
}

// missing opens the parents' files and returns those that were not opened before. A
// parent that cannot be read stays known by its id alone.
func (l loader) missing(f *File, files map[session.ID]*File) (ids []session.ID) {
	if f == nil {
		return nil
	}
	for _, text := range f.Header.ParentSessionIDs {
		id, err := session.ParseID(text)
		if err != nil {
			continue
		}
		if _, seen := files[id]; seen {
			continue
		}
		files[id] = nil
		for _, suffix := range []string{Suffix, Partial} {
			if parent, err := Open(filepath.Join(string(l.dir), id.String()+suffix)); err == nil {
				files[id] = parent
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}

func (l loader) parents(f *File) (parents []session.Session) {
	for _, text := range f.Header.ParentSessionIDs {
		if id, err := session.ParseID(text); err == nil {
			if s, ok := l.known[id]; ok {
				parents = append(parents, s)
			}
		}
	}
	return parents
}

// Open reads a file.
func Open(path string) (*File, error) {
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	defer f.Close()
	return Read(f, path)
}

// open opens a regular file only: a pipe would keep the reader waiting.
func open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

var errNotRegular = errors.New("it is no regular file")

// hasHeader reports whether a file begins as a session's does.
func hasHeader(path string) bool {
	f, err := open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	first, err := bufio.NewReader(f).ReadBytes('\n')
	if err != nil {
		return false
	}
	_, err = (*File)(nil).add(first)
	return err == nil
}
