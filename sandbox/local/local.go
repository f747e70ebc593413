// Package local opens a directory of this machine as a sandbox.
//
// At the level "host", the only one so far, files are reached through [os.Root], so that
// no path and no symbolic link leads file operations out of the workspace. Commands are
// ordinary processes of this user: they can read and write what the user can, the files
// of [Options].Hidden too. What they do not get is the program's environment (but see
// [ProtectEnviron]), and they do not outlive the sandbox:
//
//   - When a command is cancelled or the sandbox closes, the command's process group is
//     killed. On Linux, what has left the group is found by a mark in its environment;
//     elsewhere, and where it has wiped its environment too, it lives on.
//   - When the program itself is killed, the kernel kills the groups on Linux; elsewhere
//     they live on.
//   - On Windows, only the command's own process is killed.
package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/driver"
)

// Options are the settings of a local sandbox.
type Options struct {
	Policy sandbox.Policy
	// Getenv looks up the variables that commands inherit. nil: the program's own.
	Getenv func(string) (string, bool)
	// Hidden names files and folders, absolute or relative to the directory, that file
	// operations refuse with [sandbox.ErrHidden] by whatever path they are reached, and
	// leave out of listings. They need not exist, nor be inside. Commands see them.
	Hidden []string
}

// box is the driver.
type box struct {
	id     string
	dir    string // absolute, without symbolic links
	named  string // absolute, as it was given
	root   *os.Root
	policy sandbox.Policy
	getenv func(string) (string, bool)
	hidden []string     // absolute
	ran    atomic.Int64 // commands started
	left   groups
}

// Open opens an existing directory. nil options are the level "host" without limits.
// A policy that this build cannot enforce is refused. ctx bounds the opening only.
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
	b := &box{policy: opts.Policy, getenv: opts.Getenv}
	if b.getenv == nil {
		b.getenv = os.LookupEnv
	}
	if b.policy.Level == "" {
		b.policy.Level = driver.LevelHost
	}
	if err := refuse(b.policy); err != nil {
		return nil, err
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
	if b.root, err = os.OpenRoot(b.dir); err != nil {
		return nil, &openError{b.named, plain(err)}
	}
	for _, name := range opts.Hidden {
		if !filepath.IsAbs(name) {
			name = filepath.Join(b.dir, name)
		}
		b.hidden = append(b.hidden, name)
	}
	return b, ctx.Err()
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

// refuse says what of a policy cannot be enforced here.
func refuse(p sandbox.Policy) error {
	if p.Level != driver.LevelHost {
		return fmt.Errorf("level %q: %w: this build enforces %q only", p.Level, driver.ErrUnsupported, driver.LevelHost)
	}
	if p.Limits != (sandbox.Limits{}) && !canLimit {
		return fmt.Errorf("limits: %w: this system has no ulimit", driver.ErrUnsupported)
	}
	return nil
}

func (b *box) Placement() driver.Placement {
	return driver.Placement{
		Backend: "local", Level: b.policy.Level, ID: b.id,
		Spec: driver.Spec{WorkingDir: b.dir},
	}
}

func (b *box) Capabilities() driver.Capabilities {
	return driver.Capabilities{Exec: true, Files: true, Languages: languages()}
}

func (b *box) Policy() driver.Policy { return b.policy }

// Close kills what commands have left behind.
func (b *box) Close() error {
	b.left.end()
	if b.ran.Load() > 0 {
		killMarked(markSandbox + "=" + b.id)
	}
	return b.root.Close()
}
