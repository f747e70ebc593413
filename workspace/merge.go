package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// ConflictKind says why two changes do not go together, in git's words.
type ConflictKind string

// Kinds of conflicts. Git knows some more, about renames.
const (
	Contents      ConflictKind = "contents"       // both changed the same lines, or added the file
	BinaryContent ConflictKind = "binary"         // both changed a binary file
	ModifyDelete  ConflictKind = "modify/delete"  // one changed what the other deleted
	FileDirectory ConflictKind = "file/directory" // a file for one, a directory for the other
	DistinctTypes ConflictKind = "distinct modes" // a file for one, a link for the other
	RenameRename  ConflictKind = "rename/rename"
	RenameDelete  ConflictKind = "rename/delete"
	Permissions   ConflictKind = "permissions" // both changed them, differently
)

// Conflict is a path where both sides changed something and the changes do not go
// together. What each side has there can be read from the store.
type Conflict struct {
	Path   string       `json:"path"`
	Kind   ConflictKind `json:"kind"`
	Base   Entry        `json:"base,omitzero"` // the zero value: nothing there
	Ours   Entry        `json:"ours,omitzero"`
	Theirs Entry        `json:"theirs,omitzero"`
	At     string       `json:"at,omitempty"`     // where the merged snapshot has it, if Path is taken by something else
	Branch int          `json:"branch,omitempty"` // whose Theirs is: the number that MergeAll has of it; 0 in other merges
}

// MergeOptions say how snapshots are merged.
type MergeOptions struct {
	// Markers has the merged snapshot contain what git makes of files in conflict: both
	// sides' lines, between markers.
	Markers bool
	// Labels are what the sides are called at the markers: Labels[0] is ours, or in MergeAll
	// what is merged so far; Labels[1] is theirs, or Labels[i+1] branch i. One that is empty
	// or not there is "ours" and "theirs", in MergeAll "merged so far" and "branch 0" and so
	// on. A label has no line breaks.
	Labels []string
}

// Merged is what became of a merge. Where there are conflicts, the snapshot has what ours
// has, or with [MergeOptions.Markers] what git makes of it.
type Merged struct {
	ID        ID
	Conflicts []Conflict
}

// Merge brings together what two snapshots changed since a common one. Changes to different
// files, or to different lines of a text, go together; a file that one renamed is found
// again. Everything else is a conflict, and reported. Options may be nil.
func (s *Store) Merge(ctx context.Context, base, ours, theirs ID, options *MergeOptions) (*Merged, error) {
	release, err := s.use(ctx)
	if err != nil {
		return nil, wrap("merge", pair(ours, theirs), err)
	}
	defer release()
	if options == nil {
		options = &MergeOptions{}
	}
	if err := options.check(); err != nil {
		return nil, wrap("merge", pair(ours, theirs), err)
	}
	m, err := s.merge(ctx, base, ours, theirs, options)
	return m, wrap("merge", pair(ours, theirs), err)
}

func (s *Store) merge(ctx context.Context, base, ours, theirs ID, options *MergeOptions) (*Merged, error) {
	if ours == theirs || theirs == base {
		return &Merged{ID: ours}, s.known(ctx, base, ours, theirs)
	}
	if ours == base {
		return &Merged{ID: theirs}, s.known(ctx, base, ours, theirs)
	}
	m := &merger{s: s, options: options, conflicts: make(map[string]*Conflict)}
	if err := m.load(ctx, base, ours, theirs); err != nil {
		return nil, err
	}
	if err := m.files(ctx); err != nil {
		return nil, err
	}
	m.permissions()
	m.directories()
	id, err := write(ctx, s.objects, m.tree)
	if err != nil {
		return nil, err
	}
	return &Merged{id, m.sorted()}, nil
}

// merger merges. Git merges what it knows of; permissions and empty directories it does not.
type merger struct {
	s                  *Store
	options            *MergeOptions
	base, ours, theirs tree
	commits            [2]oid // ours and theirs
	tree               tree   // the result
	conflicts          map[string]*Conflict
}

// load reads the trees, and makes commits of them, since git merges commits. Nothing refers
// to those, so that they go when the store is collected.
func (m *merger) load(ctx context.Context, ids ...ID) error {
	r := m.s.reader(ctx)
	defer r.close()
	var parents string
	for i, t := range []*tree{&m.base, &m.ours, &m.theirs} {
		files, _, err := r.top(ids[i])
		if err != nil {
			return err
		}
		if *t, err = r.tree(ids[i]); err != nil {
			return err
		}
		side := []string{"base", "ours", "theirs"}[i]
		commit, err := m.s.objects.put("commit", fmt.Appendf(nil,
			"tree %s\n%sauthor rath <> 0 +0000\ncommitter rath <> 0 +0000\n\n%s\n", files, parents, side))
		if err != nil {
			return err
		}
		if i == 0 {
			parents = fmt.Sprintf("parent %s\n", commit)
		} else {
			m.commits[i-1] = commit
		}
	}
	return nil
}

// files has git merge, and takes its result apart: the tree, then for each conflict what
// each side has ("mode name stage<tab>path"), then after an empty field what it says of
// them, each the number of paths, the paths, a kind, and a sentence.
func (m *merger) files(ctx context.Context) error {
	out, err := m.s.git.output(ctx, "merge-tree", "--write-tree", "-z", m.commits[0].String(), m.commits[1].String())
	if err != nil && exitCode(err) != 1 {
		return err
	}
	fields := strings.Split(string(out), "\x00")
	id, perr := parseOID(fields[0])
	if perr != nil {
		return errors.Join(err, fmt.Errorf("git merge-tree: %w", perr))
	}
	r := m.s.reader(ctx)
	defer r.close()
	if m.tree, err = r.files(id); err != nil {
		return err
	}
	fields = fields[1:]
	for len(fields) > 0 && fields[0] != "" {
		if err := m.stage(fields[0]); err != nil {
			return err
		}
		fields = fields[1:]
	}
	m.explain(fields[min(1, len(fields)):])
	m.resolve()
	return m.label(r)
}

// stage notes what one side has at a path in conflict.
func (m *merger) stage(field string) error {
	info, p, ok := strings.Cut(field, "\t")
	words := strings.Fields(info)
	if !ok || len(words) != 3 {
		return fmt.Errorf("git merge-tree answers %q", field)
	}
	mode, err := strconv.ParseUint(words[0], 8, 32)
	if err != nil {
		return fmt.Errorf("git merge-tree answers %q", field)
	}
	id, err := parseOID(words[1])
	if err != nil {
		return err
	}
	c := m.conflict(p, Contents)
	e := entry{uint32(mode), id}
	switch words[2] {
	case "1":
		c.Base = full(e, m.base[p]).export()
	case "2":
		c.Ours = full(e, m.ours[p]).export()
	case "3":
		c.Theirs = full(e, m.theirs[p]).export()
	}
	return nil
}

// full gives an entry of git's the permissions that a snapshot has for it.
func full(e, known entry) entry {
	if known.isFile() && e.isFile() {
		e.mode = known.mode
	}
	return e
}

func (m *merger) conflict(p string, kind ConflictKind) *Conflict {
	c := m.conflicts[p]
	if c == nil {
		c = &Conflict{Path: p, Kind: kind}
		m.conflicts[p] = c
	}
	return c
}

// explain takes the kinds from what git says.
func (m *merger) explain(fields []string) {
	for len(fields) > 0 {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 0 || len(fields) < n+3 {
			return
		}
		kind, isConflict := strings.CutPrefix(fields[n+1], "CONFLICT (")
		for _, p := range fields[1 : n+1] {
			if c := m.conflicts[p]; c != nil && isConflict && c.Kind == Contents {
				c.Kind = ConflictKind(strings.TrimSuffix(kind, ")"))
			}
		}
		fields = fields[n+3:]
	}
}

// resolve puts ours where there is a conflict, and names what git had to move after the
// side it is of rather than after a commit.
func (m *merger) resolve() {
	for p, c := range m.conflicts {
		moved := false
		for i, side := range []string{"ours", "theirs"} {
			if was, ok := strings.CutSuffix(p, "~"+m.commits[i].String()); ok {
				moved = true
				m.move(c, was, side)
			}
		}
		if !moved && !m.options.Markers {
			m.takeOurs(p, c)
		}
	}
}

func (m *merger) move(c *Conflict, was, side string) {
	from := c.Path
	e, ok := m.tree[from]
	delete(m.tree, from)
	delete(m.conflicts, from)
	to := was + "~" + side
	for n := 0; m.taken(to); n++ {
		to = fmt.Sprintf("%s~%s_%d", was, side, n)
	}
	c.Path, c.At = was, to
	if c.Kind == Contents {
		c.Kind = FileDirectory
	}
	if ok {
		known := m.ours[was]
		if side == "theirs" {
			known = m.theirs[was]
		}
		m.tree[to] = full(e, known)
	}
	m.conflicts[to] = c
}

func (m *merger) taken(p string) bool {
	for _, t := range []tree{m.tree, m.ours, m.theirs} {
		if _, ok := t[p]; ok {
			return true
		}
	}
	return false
}

func (m *merger) takeOurs(p string, c *Conflict) {
	delete(m.tree, p)
	if c.Ours == (Entry{}) {
		return
	}
	e := entry{id: mustOID(c.Ours.Blob), mode: typeFile | uint32(c.Ours.Mode.Perm())}
	if c.Ours.Mode&fs.ModeSymlink != 0 {
		e.mode = typeLink
	}
	m.tree[p] = e
}

func mustOID(b BlobID) oid {
	o, _ := parseOID(string(b)) // it was made from one
	return o
}

func (m *merger) sorted() []Conflict {
	conflicts := make([]Conflict, 0, len(m.conflicts))
	for _, c := range m.conflicts {
		conflicts = append(conflicts, *c)
	}
	slices.SortFunc(conflicts, func(a, b Conflict) int {
		return strings.Compare(a.Path+"\x00"+a.At, b.Path+"\x00"+b.At)
	})
	if len(conflicts) == 0 {
		return nil
	}
	return conflicts
}
