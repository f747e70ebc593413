// Package workspace keeps the files of a directory: snapshots of it, forks that share
// what they do not change, differences and three-way merges.
//
// A [Store] is a bare git repository of its own, the shadow, somewhere outside what it
// keeps or excluded from it. A snapshot is a tree in it, named by its SHA-256. The
// repository that a user keeps in the directory is never read, followed or changed: an
// entry named .git is no part of any snapshot, and repositories below the directory,
// submodules too, are directories like any other.
//
// A snapshot has regular files with their permission bits, symbolic links as links, and
// directories, empty ones too. It does not have owners, times, extended attributes,
// set-id and sticky bits, or which names are links to one file; sockets, pipes and devices
// are left out and reported. Contents are kept to the byte: no attribute, filter or end of
// line conversion applies.
//
// Directories are reached through [os.Root], a component at a time and without following
// links, so that nothing that changes beneath an operation leads it elsewhere. The program
// git, 2.39 or later, compares, merges and packs; it never looks at the directory itself.
//
// A process that is killed, whenever that is, leaves a store that works on; what it had
// begun is removed by GC. When the whole machine goes down, snapshots of its last moments
// may be lost, and reading them is [ErrCorrupt] or [ErrUnknown]; they never pass for whole.
//
// All methods are safe for concurrent use, by several processes too. Errors are of type
// [*Error].
//
// Next: [github.com/openrath-go/rath/sandbox/local], the first of the drivers.
package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Options say what of a directory is the store's business. All snapshots that are compared
// should be made with the same.
type Options struct {
	// Exclude are slash paths below the directory that are neither taken nor touched, such
	// as ".openrath". The store itself is always excluded.
	Exclude []string
	// Ignored takes what .gitignore files leave out, too, and lets Restore remove it.
	Ignored bool
	// Unreadable leaves out, and reports, what may not be read, instead of failing.
	Unreadable bool
	// Untrusted are absolute folders whose programs are not run: who may write there could
	// have put a git there. Name the directories that commands of a model work in.
	Untrusted []string
	// MaxFiles and MaxBytes are how many files, links and directories, and how many bytes
	// of them, a directory may have at most. One with more is refused with [ErrTooLarge], as
	// soon as that is seen and before anything of it is kept. 0: no bound.
	MaxFiles int
	MaxBytes int64
}

// Store keeps snapshots. It holds nothing open, so there is nothing to close.
type Store struct {
	dir        string // the GIT_DIR, absolute, symbolic links resolved
	options    Options
	git        *git
	objects    *objects
	references *references
	overlays   func() (class string, err error) // how overlays are mounted; tried once
}

// Open opens the store in the directory gitDir, and makes it if there is none. Nothing
// but stores should be there. Options may be nil.
func Open(ctx context.Context, gitDir string, options *Options) (*Store, error) {
	s, err := open(gitDir, options)
	if err == nil {
		err = s.mend(ctx)
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, wrap("open store", gitDir, err)
	}
	return s, nil
}

func open(gitDir string, options *Options) (*Store, error) {
	dir, err := filepath.Abs(gitDir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	if options == nil {
		options = &Options{}
	}
	g, err := newGit(dir, options.Untrusted)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, git: g, objects: newObjects(filepath.Join(dir, "objects"))}
	s.options = *options
	s.references = &references{dir, s.replace}
	s.overlays = sync.OnceValues(s.tryOverlays)
	return s, s.layOut()
}

// config is the whole configuration of the repository. It is compared at each opening, so
// that nobody can have git run something by writing there.
const config = `[core]
	repositoryformatversion = 1
	bare = true
	filemode = true
	logallrefupdates = false
	protectNTFS = false
	protectHFS = false
[extensions]
	objectformat = sha256
`

// attributes switches off, with the highest precedence, what .gitattributes could ask for.
const attributes = "* !text !eol !crlf !ident !filter !working-tree-encoding !diff !merge !whitespace !conflict-marker-size\n"

// layOut writes what makes a directory a repository. Doing it again changes nothing.
func (s *Store) layOut() error {
	for _, d := range []string{"objects/info", "objects/pack", "refs/rath", "info", "rath/cache", "rath/forks", "rath/layers", "rath/tmp"} {
		if err := os.MkdirAll(filepath.Join(s.dir, filepath.FromSlash(d)), 0o700); err != nil {
			return err
		}
	}
	for name, want := range map[string]string{"config": config, "info/attributes": attributes, "HEAD": "ref: refs/heads/none\n"} {
		if err := s.ensure(filepath.Join(s.dir, filepath.FromSlash(name)), want); err != nil {
			return err
		}
	}
	return nil
}

// ensure writes a file as a whole, unless it is as wanted.
func (s *Store) ensure(name, want string) error {
	if has, err := os.ReadFile(name); err == nil && string(has) == want {
		return nil
	}
	return s.replace(name, []byte(want))
}

// replace writes a file of the store as a whole or not at all.
func (s *Store) replace(name string, data []byte) error {
	f, err := os.CreateTemp(s.own("tmp"), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// own is a path among what the store keeps beside git's files.
func (s *Store) own(elem ...string) string {
	return filepath.Join(append([]string{s.dir, "rath"}, elem...)...)
}

// excluded returns what is left out below dir, as a set of slash paths.
func (s *Store) excluded(dir string) map[string]bool {
	set := make(map[string]bool, len(s.options.Exclude)+1)
	for _, p := range s.options.Exclude {
		set[strings.Trim(filepath.ToSlash(filepath.Clean(p)), "/")] = true
	}
	if rel, err := filepath.Rel(dir, s.dir); err == nil && filepath.IsLocal(rel) {
		set[filepath.ToSlash(rel)] = true
	}
	return set
}
