package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Modes as git writes them: a type, and permissions.
const (
	typeMask = 0o170000
	typeDir  = 0o040000
	typeFile = 0o100000
	typeLink = 0o120000

	plainFile = typeFile | 0o644
	plainExec = typeFile | 0o755
	plainDir  = typeDir | 0o755
)

// entry is what a snapshot has at a path. The zero value is nothing.
type entry struct {
	mode uint32
	id   oid // of the content; zero for a directory
}

func (e entry) isDir() bool  { return e.mode&typeMask == typeDir }
func (e entry) isFile() bool { return e.mode&typeMask == typeFile }
func (e entry) isLink() bool { return e.mode&typeMask == typeLink }

// perm are the permissions that a file or directory is given.
func (e entry) perm() fs.FileMode { return fs.FileMode(e.mode & 0o777) }

// gitMode is the mode that a tree of git's can have.
func (e entry) gitMode() uint32 {
	switch {
	case e.isFile() && e.mode&0o100 != 0:
		return plainExec
	case e.isFile():
		return plainFile
	case e.isDir():
		return typeDir
	}
	return e.mode & typeMask
}

// plain is the mode that an entry has when a snapshot says no more than git does.
func (e entry) plain() uint32 {
	if e.isDir() {
		return plainDir
	}
	return e.gitMode()
}

// tree is all that a snapshot has, by slash path: files, links, and directories.
type tree map[string]entry

func (t tree) sorted() []string { return slices.Sorted(maps.Keys(t)) }

// parent is the path of the directory that something is in, "" for the root.
func parent(p string) string {
	return p[:max(strings.LastIndexByte(p, '/'), 0)]
}

// A snapshot is a tree of at most two entries: "files" is the tree of files as git has it;
// "modes" lists what git cannot hold, a mode and a path with a NUL after each: files with
// permissions other than 644 and 755, directories with others than 755, and directories
// that have no file below them.
const (
	filesName = "files"
	modesName = "modes"
)

// write keeps a tree as a snapshot. The blobs are there already.
func write(ctx context.Context, to sink, t tree) (ID, error) {
	w := &treeWriter{ctx, to, t, t.sorted(), make(map[string][]string), make(map[string]bool)}
	for _, p := range w.paths {
		w.below[parent(p)] = append(w.below[parent(p)], p)
	}
	files, err := w.dir("")
	if err != nil {
		return "", err
	}
	list := treeEntry(nil, typeDir, filesName, files)
	if modes := w.modes(); len(modes) > 0 {
		id, err := to.put("blob", modes)
		if err != nil {
			return "", err
		}
		list = treeEntry(list, plainFile, modesName, id)
	}
	id, err := to.put("tree", list)
	return ID(id.String()), err
}

// treeWriter writes the trees of git.
type treeWriter struct {
	ctx   context.Context
	to    sink
	tree  tree
	paths []string            // sorted
	below map[string][]string // the paths right below each directory
	empty map[string]bool     // directories with no file below
}

// dir writes the tree of a directory. One without files is not written.
func (w *treeWriter) dir(dir string) (id oid, err error) {
	if err := w.ctx.Err(); err != nil {
		return id, context.Cause(w.ctx)
	}
	type item struct {
		name, order string
		mode        uint32
		id          oid
	}
	var items []item
	for _, p := range w.below[dir] {
		e, name := w.tree[p], strings.TrimPrefix(p[len(dir):], "/")
		it := item{name, name, e.gitMode(), e.id}
		if e.isDir() {
			if it.id, err = w.dir(p); err != nil {
				return id, err
			}
			if w.empty[p] {
				continue
			}
			it.order = name + "/" // so git sorts them
		}
		items = append(items, it)
	}
	if len(items) == 0 && dir != "" {
		w.empty[dir] = true
		return id, nil
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.order, b.order) })
	var list []byte
	for _, it := range items {
		list = treeEntry(list, it.mode, it.name, it.id)
	}
	return w.to.put("tree", list)
}

func treeEntry(b []byte, mode uint32, name string, id oid) []byte {
	b = strconv.AppendUint(b, uint64(mode), 8)
	b = append(append(append(b, ' '), name...), 0)
	return append(b, id[:]...)
}

// modes lists what git cannot hold.
func (w *treeWriter) modes() (list []byte) {
	for _, p := range w.paths {
		if e := w.tree[p]; e.mode != e.plain() || w.empty[p] {
			list = fmt.Appendf(list, "%06o %s\x00", e.mode, p)
		}
	}
	return list
}

// top reads what a snapshot is made of: its files and, if there is one, its list of modes.
func (r *reader) top(id ID) (files, modes oid, err error) {
	o, err := parseOID(string(id))
	if err != nil {
		return files, modes, err
	}
	top := make(tree)
	if err := r.level(top, "", o, false); err != nil {
		return files, modes, err
	}
	if !top[filesName].isDir() {
		return files, modes, fmt.Errorf("%s is a tree of another kind: %w", id, ErrUnknown)
	}
	return top[filesName].id, top[modesName].id, nil
}

// tree reads a snapshot.
func (r *reader) tree(id ID) (tree, error) {
	files, modes, err := r.top(id)
	if err != nil {
		return nil, err
	}
	t, err := r.files(files)
	if err != nil || modes == (oid{}) {
		return t, err
	}
	list, err := r.bytes("blob", modes)
	if err != nil {
		return nil, err
	}
	return t, t.addModes(list)
}

// files reads a tree of git's and all below it.
func (r *reader) files(id oid) (tree, error) {
	t := make(tree)
	if err := r.level(t, "", id, true); err != nil {
		return nil, err
	}
	t.normalize()
	return t, nil
}

// normalize makes entries of git's those of a snapshot.
func (t tree) normalize() {
	for p, e := range t {
		if e.mode = e.plain(); e.isDir() {
			e.id = oid{}
		}
		t[p] = e
	}
}

// differing reads two snapshots, and leaves out what is in directories that have the same
// in both.
func (r *reader) differing(a, b ID) (from, to tree, err error) {
	fromFiles, fromModes, err := r.top(a)
	if err != nil {
		return nil, nil, err
	}
	toFiles, toModes, err := r.top(b)
	if err != nil {
		return nil, nil, err
	}
	if fromModes != toModes { // they may differ in directories whose files do not
		if from, err = r.tree(a); err == nil {
			to, err = r.tree(b)
		}
		return from, to, err
	}
	from, to = make(tree), make(tree)
	if err := r.unlike(from, to, "", fromFiles, toFiles); err != nil {
		return nil, nil, err
	}
	from.normalize()
	to.normalize()
	if fromModes == (oid{}) {
		return from, to, nil
	}
	list, err := r.bytes("blob", fromModes)
	if err == nil {
		err = errors.Join(from.addModes(list), to.addModes(list))
	}
	return from, to, err
}

// unlike reads two trees of git's as far as they differ.
func (r *reader) unlike(from, to tree, dir string, a, b oid) error {
	here, there := make(tree), make(tree)
	if err := r.level(here, dir, a, false); err != nil {
		return err
	}
	if err := r.level(there, dir, b, false); err != nil {
		return err
	}
	maps.Copy(from, here)
	maps.Copy(to, there)
	for p, e := range here {
		other := there[p]
		switch {
		case !e.isDir() || e == other:
			continue
		case other.isDir():
			if err := r.unlike(from, to, p, e.id, other.id); err != nil {
				return err
			}
		default:
			if err := r.level(from, p, e.id, true); err != nil {
				return err
			}
		}
	}
	for p, e := range there {
		if e.isDir() && !here[p].isDir() {
			if err := r.level(to, p, e.id, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// level reads a tree of git's, and those below it if it is to.
func (r *reader) level(t tree, dir string, id oid, deep bool) error {
	data, err := r.bytes("tree", id)
	if err != nil {
		return err
	}
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, ok2 := strings.Cut(string(head), " ")
		m, err := strconv.ParseUint(mode, 8, 32)
		if !ok || !ok2 || err != nil || len(rest) < len(id) || !validName(name) {
			return fmt.Errorf("%w: tree %s", ErrCorrupt, id)
		}
		e := entry{uint32(m), oid(rest)}
		data = rest[len(id):]
		p := join(dir, name)
		if t[p] = e; deep && e.isDir() {
			if err := r.level(t, p, e.id, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// validName reports whether something may have a name in a snapshot. The repository of the
// user is told by it, on file systems that ignore case too.
func validName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.EqualFold(name, ".git") && !strings.ContainsAny(name, "/\x00")
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func (t tree) addModes(list []byte) error {
	for line := range bytes.SplitSeq(list, []byte{0}) {
		if len(line) == 0 {
			continue
		}
		mode, p, ok := strings.Cut(string(line), " ")
		m, err := strconv.ParseUint(mode, 8, 32)
		if !ok || err != nil {
			return fmt.Errorf("%w: list of modes", ErrCorrupt)
		}
		for part := range strings.SplitSeq(p, "/") {
			if !validName(part) {
				return fmt.Errorf("%w: list of modes: path %q", ErrCorrupt, p)
			}
		}
		t[p] = entry{uint32(m), t[p].id}
		t.addParents(p)
	}
	return nil
}

// addParents adds the directories above a path that are not there.
func (t tree) addParents(p string) {
	for d := parent(p); d != ""; d = parent(d) {
		if _, ok := t[d]; ok {
			return
		}
		t[d] = entry{mode: plainDir}
	}
}

// Entry is what a snapshot has at a path. The zero value is nothing.
type Entry struct {
	Mode fs.FileMode `json:"mode"`           // the type and permissions
	Blob BlobID      `json:"blob,omitempty"` // the content, or a link's target; empty for a directory
}

func (e entry) export() Entry {
	switch {
	case e == entry{}:
		return Entry{}
	case e.isDir():
		return Entry{Mode: fs.ModeDir | e.perm()}
	case e.isLink():
		return Entry{fs.ModeSymlink | 0o777, BlobID(e.id.String())}
	}
	return Entry{e.perm(), BlobID(e.id.String())}
}

// List returns all that a snapshot has, by slash path.
func (s *Store) List(ctx context.Context, id ID) (map[string]Entry, error) {
	release, err := s.use(ctx)
	if err != nil {
		return nil, wrap("list", short(id), err)
	}
	defer release()
	r := s.reader(ctx)
	defer r.close()
	t, err := r.tree(id)
	if err != nil {
		return nil, wrap("list", short(id), err)
	}
	entries := make(map[string]Entry, len(t))
	for p, e := range t {
		entries[p] = e.export()
	}
	return entries, nil
}
