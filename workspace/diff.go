package workspace

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ChangeKind is what happened to a path.
type ChangeKind string

// The kinds of changes.
const (
	Added    ChangeKind = "added"
	Deleted  ChangeKind = "deleted"
	Modified ChangeKind = "modified" // the content, perhaps the permissions too
	Renamed  ChangeKind = "renamed"  // perhaps with some changes
	Mode     ChangeKind = "mode"     // only the permissions
	Type     ChangeKind = "type"     // a file became a link, a directory a file, ...
)

// Change is what differs at a path. Directories are named only where they are empty, or
// their permissions or type changed.
type Change struct {
	Kind     ChangeKind
	Path     string
	From     string // the former path, if Renamed
	Old, New Entry

	Binary     bool
	Insertions int // lines
	Deletions  int
}

// Diff returns what leads from one snapshot to another, in order of paths.
func (s *Store) Diff(ctx context.Context, a, b ID) ([]Change, error) {
	changes, err := s.diff(ctx, a, b)
	return changes, wrap("diff", pair(a, b), err)
}

// DiffDir returns what leads from a snapshot to what is in a directory now, and the
// snapshot of that.
func (s *Store) DiffDir(ctx context.Context, id ID, dir string) ([]Change, ID, error) {
	now, err := s.Snapshot(ctx, dir)
	if err != nil {
		return nil, "", err
	}
	changes, err := s.Diff(ctx, id, now.ID)
	return changes, now.ID, err
}

func pair(a, b ID) string { return short(a) + ".." + short(b) }

// short is enough of a name for people.
func short(id ID) string { return string(id[:min(len(id), 12)]) }

func (s *Store) diff(ctx context.Context, a, b ID) ([]Change, error) {
	release, err := s.use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if a == b {
		return nil, s.known(ctx, a)
	}
	r := s.reader(ctx)
	defer r.close()
	from, to, err := r.differing(a, b)
	if err != nil {
		return nil, err
	}
	changes := compare(from, to)
	if err := s.count(ctx, a, b, changes); err != nil {
		return nil, err
	}
	return sortChanges(changes), nil
}

// known fails for what is no snapshot.
func (s *Store) known(ctx context.Context, ids ...ID) error {
	r := s.reader(ctx)
	defer r.close()
	for _, id := range ids {
		if _, _, err := r.top(id); err != nil {
			return err
		}
	}
	return nil
}

func sortChanges(set map[string]*Change) []Change {
	changes := make([]Change, 0, len(set))
	for _, c := range set {
		changes = append(changes, *c)
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return changes
}

// compare finds what differs, by path.
func compare(from, to tree) map[string]*Change {
	changes := make(map[string]*Change)
	fullFrom, fullTo := from.inhabited(), to.inhabited()
	note := func(p string, kind ChangeKind) {
		changes[p] = &Change{Kind: kind, Path: p, Old: from[p].export(), New: to[p].export()}
	}
	for p, a := range from {
		b, stays := to[p]
		switch {
		case a == b:
		case !stays && (!a.isDir() || !fullFrom[p]):
			note(p, Deleted)
		case !stays:
		case a.mode&typeMask != b.mode&typeMask:
			note(p, Type)
		case a.id != b.id:
			note(p, Modified)
		default:
			note(p, Mode)
		}
	}
	for p, b := range to {
		if _, was := from[p]; !was && (!b.isDir() || !fullTo[p]) {
			note(p, Added)
		}
	}
	return changes
}

// inhabited are the directories that something is in.
func (t tree) inhabited() map[string]bool {
	full := make(map[string]bool)
	for p := range t {
		full[parent(p)] = true
	}
	return full
}

// safe are the options without which git would run what attributes or a configuration
// name, or depend on settings.
var safe = []string{"diff-tree", "-r", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index", "--diff-algorithm=histogram"}

func filesOf(id ID) string { return string(id) + ":" + filesName }

// count adds what git finds out: lines, and which additions are renames.
func (s *Store) count(ctx context.Context, a, b ID, changes map[string]*Change) error {
	if len(changes) == 0 {
		return nil
	}
	out, err := s.git.output(ctx, slices.Concat(safe, []string{"--raw", "--numstat", "-z", filesOf(a), filesOf(b)})...)
	if err != nil {
		return err
	}
	fields := strings.Split(string(out), "\x00")
	for len(fields) > 1 {
		n := countField(changes, fields)
		if n > len(fields) {
			return fmt.Errorf("%w: git diff-tree answers %q", ErrCorrupt, fields[0])
		}
		fields = fields[n:]
	}
	return nil
}

// countField takes one answer of git's, and returns how many fields it has. A line of
// --raw begins with a colon and ends with the status, R for a rename; then come the paths.
// A line of --numstat is the counts and the path, or no path and then two for a rename.
func countField(changes map[string]*Change, fields []string) int {
	if strings.HasPrefix(fields[0], ":") {
		words := strings.Fields(fields[0])
		if !strings.HasPrefix(words[len(words)-1], "R") {
			return 2
		}
		if len(fields) > 2 {
			rename(changes, fields[1], fields[2])
		}
		return 3
	}
	counts := strings.SplitN(fields[0], "\t", 3)
	if len(counts) != 3 {
		return len(fields) + 1
	}
	p, n := counts[2], 1
	if p == "" && len(fields) > 2 {
		p, n = fields[2], 3
	}
	if c := changes[p]; c != nil {
		c.Binary = counts[0] == "-"
		c.Insertions, _ = strconv.Atoi(counts[0])
		c.Deletions, _ = strconv.Atoi(counts[1])
	}
	return n
}

func rename(changes map[string]*Change, from, to string) {
	old, now := changes[from], changes[to]
	if old == nil || now == nil || old.Kind != Deleted || now.Kind != Added {
		return
	}
	now.Kind, now.From, now.Old = Renamed, from, old.Old
	delete(changes, from)
}

// PatchOptions say how a patch is written.
type PatchOptions struct {
	Binary  bool // have it contain binary files, so that ApplyPatch can take it; else they are only named
	Context int  // lines around a change; 0: three
}

// Patch writes what leads from one snapshot to another as a unified diff as git has it. It
// tells of files and links, and of permissions only whether a file is executable. Options
// may be nil.
func (s *Store) Patch(ctx context.Context, w io.Writer, a, b ID, options *PatchOptions) error {
	return wrap("patch", pair(a, b), s.patch(ctx, w, a, b, options))
}

func (s *Store) patch(ctx context.Context, w io.Writer, a, b ID, options *PatchOptions) error {
	release, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer release()
	entered, err := s.entered(ctx, a, b)
	if err != nil {
		return err
	}
	args := append(slices.Clone(safe), "-p")
	if entered {
		args = append(args, "--no-renames")
	}
	if options != nil && options.Binary {
		args = append(args, "--binary")
	}
	if options != nil && options.Context > 0 {
		args = append(args, "-U"+strconv.Itoa(options.Context))
	}
	return s.git.run(ctx, s.git.command(ctx, append(args, filesOf(a), filesOf(b))...), nil, w)
}

// entered reports whether a link became a directory. Had the link been renamed into it,
// git apply would take the patch for one that writes through the link, and refuse it.
func (s *Store) entered(ctx context.Context, a, b ID) (bool, error) {
	if a == b {
		return false, s.known(ctx, a)
	}
	r := s.reader(ctx)
	defer r.close()
	from, to, err := r.differing(a, b)
	for p, e := range from {
		if e.isLink() && to[p].isDir() {
			return true, err
		}
	}
	return false, err
}

// String is a change as people read it: what happened to what, and how many lines of it.
func (c Change) String() string {
	name := strconv.Quote(c.Path)
	if name[1:len(name)-1] == c.Path {
		name = c.Path
	}
	if c.From != "" {
		name = strconv.Quote(c.From) + " -> " + strconv.Quote(c.Path)
	}
	switch {
	case c.Binary:
		return fmt.Sprintf("%-8s %s (binary)", c.Kind, name)
	case c.Insertions+c.Deletions > 0:
		return fmt.Sprintf("%-8s %s (+%d -%d)", c.Kind, name, c.Insertions, c.Deletions)
	}
	return fmt.Sprintf("%-8s %s", c.Kind, name)
}

// Stat writes changes as people read them, a line each and a sum.
func Stat(w io.Writer, changes []Change) error {
	var b bytes.Buffer
	var more, less int
	for _, c := range changes {
		fmt.Fprintln(&b, c)
		more, less = more+c.Insertions, less+c.Deletions
	}
	fmt.Fprintf(&b, "%d changed, %d insertions(+), %d deletions(-)\n", len(changes), more, less)
	_, err := w.Write(b.Bytes())
	return err
}
