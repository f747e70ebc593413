// Package local opens a directory of this machine as a sandbox.
//
// Files are reached through [os.Root], so that no path and no symbolic link leads file
// operations out of the workspace. Commands run at one of three levels:
//
//   - "host": ordinary processes of this user, which read and write what the user can, the
//     files of [Options].Hidden too.
//   - "landlock": Linux 6.12 or later, no rights needed. Commands reach the workspace, the
//     system's programs and the paths that the policy names, no network unless it is
//     allowed, no unix sockets, no other processes, and none of the system calls that serve
//     to break out. They still see the names of files and processes, and can change modes
//     and times of files that the user owns.
//   - "bubblewrap": needs the program bwrap, and user namespaces or the superuser. Each
//     command has namespaces of its own, in which there is nothing else.
//
// At the last two, HOME and the temporary folder are empty folders that go when the
// sandbox closes. At "bubblewrap" these are at their usual places, and commands that run
// at the same time do not see each other. A level that cannot be enforced is refused with
// a [*sandbox.PolicyError]; [Probe] says which can.
//
// At no level do commands get the program's environment (but see [ProtectEnviron]), and
// they do not outlive the sandbox:
//
//   - When a command is cancelled or the sandbox closes, the command's process group is
//     killed. On Linux, what has left the group is found by a mark in its environment;
//     elsewhere, and where it has wiped its environment too, it lives on. At "landlock",
//     closing ends that as well, at "bubblewrap" also cancelling.
//   - When the program itself is killed, the kernel kills the groups on Linux; elsewhere
//     they live on.
//   - On Windows, only the command's own process is killed.
//
// Next: [github.com/openrath-go/rath/sandbox/docker].
package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/workspace"
)

// Options are the settings of a local sandbox.
type Options struct {
	Policy sandbox.Policy
	// Getenv looks up the variables that commands inherit. nil: the program's own.
	Getenv func(string) (string, bool)
	// Hidden names files and folders, absolute or relative to the directory, that file
	// operations refuse with [sandbox.ErrHidden] by whatever path they are reached, and
	// leave out of listings. They need not exist, nor be inside; the directory may be inside
	// one, and is not hidden by that. Commands see them at the level "host"; "landlock"
	// refuses those that are in a path of the policy, and "bubblewrap" covers them: folders
	// reliably, single files until something outside renames another file onto them.
	Hidden []string
	// Apart says that the directory is no part of a repository that a folder above it is: git
	// does not look there. It always is so in forks.
	Apart bool
	// Workspace keeps the snapshots of the directory, and forks it. nil: there are none.
	Workspace *workspace.Store
}

// box is the driver.
type box struct {
	id     string
	dir    string // absolute, without symbolic links
	named  string // absolute, as it was given
	root   *os.Root
	policy sandbox.Policy
	getenv func(string) (string, bool)
	hidden []string // absolute
	driver.Folder
	fork  *workspace.Fork // nil: the directory is no fork
	apart bool
	alias []string // absolute names that the directory goes by too, of what it is a fork of, the first fork's first

	readOnly, writable []place // the workspace is among the writable ones

	cage    cage
	counter *counter     // nil: the shell's limits count
	ran     atomic.Int64 // commands started
	left    groups
}

// Open opens an existing directory. nil options are the level "host" without limits. A
// policy without a level gets "host" too, or if it asks for what that does not have, the
// strongest level that enforces it. A policy that cannot be enforced here is refused with
// a [*sandbox.PolicyError]. ctx bounds the opening only.
func Open(ctx context.Context, dir string, opts *Options) (*sandbox.Sandbox, error) {
	b, err := open(ctx, dir, opts)
	if err != nil {
		return nil, &sandbox.Error{Op: "open sandbox", Name: "local:" + dir, Err: err}
	}
	return sandbox.New(b), nil
}

func open(ctx context.Context, dir string, opts *Options) (*box, error) {
	if opts == nil {
		opts = &Options{}
	}
	b := &box{policy: opts.Policy, getenv: opts.Getenv, apart: opts.Apart, Folder: driver.Folder{Store: opts.Workspace}}
	if b.getenv == nil {
		b.getenv = os.LookupEnv
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	b.id = id.String()
	if b.named, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if b.dir, err = filepath.EvalSymlinks(b.named); err != nil {
		return nil, &openError{b.named, plain(err)}
	}
	b.Folder.Dir = b.dir
	if b.root, err = os.OpenRoot(b.dir); err != nil {
		return nil, &openError{b.named, plain(err)}
	}
	if err := b.settle(ctx, opts.Hidden); err != nil {
		_ = b.root.Close()
		return nil, err
	}
	return b, nil
}

// settle finds a level that enforces the policy, and begins to.
func (b *box) settle(ctx context.Context, hidden []string) error {
	for _, name := range hidden {
		if !filepath.IsAbs(name) {
			name = filepath.Join(b.dir, name)
		}
		b.hidden = append(b.hidden, name)
	}
	if err := b.resolvePaths(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.enclose(ctx)
}

// openError is why a directory cannot be opened.
type openError struct {
	dir string
	err error
}

func (e *openError) Error() string { return e.err.Error() }
func (e *openError) Unwrap() error { return e.err }

// Hint says what to do about it.
func (e *openError) Hint() string {
	switch {
	case errors.Is(e.err, fs.ErrNotExist):
		return "make the folder " + e.dir + " first, or name one that exists"
	case errors.Is(e.err, fs.ErrPermission):
		return "name a folder that you may read and enter"
	}
	return "name a folder: " + e.dir + " cannot be a workspace"
}

func (b *box) Placement() driver.Placement {
	return driver.Placement{
		Backend: "local", Level: b.policy.Level, ID: b.id,
		Spec: driver.Spec{WorkingDir: b.dir},
	}
}

func (b *box) Capabilities() driver.Capabilities {
	keeps := b.Store != nil
	c := driver.Capabilities{Exec: true, Files: true, Languages: b.languages(), Snapshot: keeps, Fork: keeps}
	b.cage.capable(&c)
	return c
}

func (b *box) Policy() driver.Policy { return b.policy }

// Close kills what commands have left behind.
func (b *box) Close() error {
	b.left.end()
	if b.ran.Load() > 0 {
		killMarked(markSandbox + "=" + b.id)
	}
	b.cage.end()
	b.counter.close()
	b.cage.close()
	err := b.root.Close()
	if b.fork != nil {
		err = errors.Join(err, b.fork.Close())
	}
	return err
}
