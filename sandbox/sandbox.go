// Package sandbox is where tools run: a [*Sandbox] is one open environment with a
// workspace of files, commands and interpreters, whatever driver is behind it. Drivers
// live in the folders below; [github.com/openrath-go/rath/sandbox/local] opens a
// directory of this machine.
//
// Next: [github.com/openrath-go/rath/tool], what a model may call there.
package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox/driver"
)

// The types that drivers share with users.
type (
	Command      = driver.Command
	Result       = driver.Result
	Code         = driver.Code
	CodeResult   = driver.CodeResult
	Entry        = driver.Entry
	Placement    = driver.Placement
	Spec         = driver.Spec
	Policy       = driver.Policy
	Limits       = driver.Limits
	Capabilities = driver.Capabilities
	Network      = driver.Network
	PolicyError  = driver.PolicyError
	SnapshotID   = driver.SnapshotID
)

// The levels of isolation that drivers may have, and the networks that a policy can
// leave to commands.
const (
	LevelHost       = driver.LevelHost
	LevelLandlock   = driver.LevelLandlock
	LevelBubblewrap = driver.LevelBubblewrap
	LevelStrongest  = driver.LevelStrongest

	NetworkDeny     = driver.NetworkDeny
	NetworkLoopback = driver.NetworkLoopback
	NetworkAllow    = driver.NetworkAllow
)

// Errors that a failed operation wraps; a missing file is [fs.ErrNotExist].
var (
	ErrClosed      = driver.ErrClosed
	ErrEscape      = driver.ErrEscape
	ErrUnsupported = driver.ErrUnsupported
	ErrNotRegular  = driver.ErrNotRegular
	ErrHidden      = driver.ErrHidden // also an [fs.ErrPermission]
)

// Sandbox is one open environment. It is safe for concurrent use. Who opened it closes
// it; sessions only refer to it.
type Sandbox struct {
	d         driver.Sandbox // nil: see fork
	placement Placement
	url       string
	fork      *fork // nil: it is none
	versions  versions

	mu     sync.RWMutex // held for reading by every operation
	closed bool
	stop   context.CancelCauseFunc // ends what runs when the sandbox closes
	life   context.Context
}

// New makes the portable type of a driver's. It is for drivers.
func New(d driver.Sandbox) *Sandbox {
	p := d.Placement()
	f, ok := d.(driver.Forker)
	p.Forkable = ok && f.Workspace() != nil
	s := handle(p)
	s.d = d
	return s
}

// handle makes what does not depend on the driver.
func handle(p Placement) *Sandbox {
	if p.ID == "" {
		p.ID = uuid.Must(uuid.NewV7()).String()
	}
	s := &Sandbox{placement: p, url: p.Backend + ":" + p.Spec.WorkingDir}
	s.life, s.stop = context.WithCancelCause(context.Background())
	return s
}

// ID names this handle, a UUID.
func (s *Sandbox) ID() string { return s.placement.ID }

// String returns the sandbox's URL, "local:/home/me/project".
func (s *Sandbox) String() string { return s.url }

// Placement says where the sandbox is, for the record.
func (s *Sandbox) Placement() Placement { return s.placement }

// Capabilities says what the sandbox can do.
func (s *Sandbox) Capabilities() Capabilities {
	if s.fork != nil {
		return s.fork.of.Capabilities()
	}
	return s.d.Capabilities()
}

// Policy says what the sandbox enforces.
func (s *Sandbox) Policy() Policy {
	if s.fork != nil {
		return s.fork.of.Policy()
	}
	return s.d.Policy()
}

// Exec runs a command to its end. A command that fails is a [Result], not an error; so
// is one that ran out of its own Timeout. When ctx ends first, the command and all its
// children are killed, and what it had put out comes with ctx's error.
func (s *Sandbox) Exec(ctx context.Context, c Command) (Result, error) {
	if (c.Shell == "") == (len(c.Args) == 0) {
		return Result{}, wrap("exec", "", errors.New("exactly one of Shell and Args must be set"))
	}
	return do(s, ctx, "exec", "", func(ctx context.Context, d driver.Sandbox) (Result, error) { return d.Exec(ctx, c) })
}

// RunCode runs a program text. A language that the sandbox does not have is
// ErrUnsupported.
func (s *Sandbox) RunCode(ctx context.Context, c Code) (CodeResult, error) {
	return do(s, ctx, "run code", c.Language, func(ctx context.Context, d driver.Sandbox) (CodeResult, error) { return d.RunCode(ctx, c) })
}

// Canonical returns the name under which tools lock a file: relative to the workspace,
// with slashes, symbolic links resolved as far as they exist. The root is ".".
func (s *Sandbox) Canonical(name string) (string, error) {
	return do(s, context.Background(), "resolve", name, func(_ context.Context, d driver.Sandbox) (string, error) { return d.Canonical(name) })
}

// ReadFile returns a whole regular file.
func (s *Sandbox) ReadFile(ctx context.Context, name string) ([]byte, error) {
	data, _, err := s.ReadRange(ctx, name, 0, -1)
	return data, err
}

// ReadRange returns at most max bytes of a regular file from offset on, all if max is
// negative, and the file's whole size. It never loads more than it returns.
func (s *Sandbox) ReadRange(ctx context.Context, name string, offset int64, max int) (data []byte, size int64, err error) {
	data, err = do(s, ctx, "read", name, func(ctx context.Context, d driver.Sandbox) (data []byte, err error) {
		data, size, err = d.Read(ctx, name, offset, max)
		return data, err
	})
	return data, size, err
}

// WriteFile replaces a file as a whole or not at all, keeps its mode, and makes the
// folders that are missing. A file that may only be read is [fs.ErrPermission].
func (s *Sandbox) WriteFile(ctx context.Context, name string, data []byte) error {
	_, err := do(s, ctx, "write", name, func(ctx context.Context, d driver.Sandbox) (struct{}, error) {
		return struct{}{}, d.Write(ctx, name, data)
	})
	return err
}

// List returns the entries of a folder, sorted by name.
func (s *Sandbox) List(ctx context.Context, name string) ([]Entry, error) {
	return do(s, ctx, "list", name, func(ctx context.Context, d driver.Sandbox) ([]Entry, error) { return d.List(ctx, name) })
}

// Stat describes the file that a name leads to, symbolic links followed.
func (s *Sandbox) Stat(ctx context.Context, name string) (Entry, error) {
	return do(s, ctx, "stat", name, func(ctx context.Context, d driver.Sandbox) (Entry, error) { return d.Stat(ctx, name) })
}

// Exists reports whether a name leads to something.
func (s *Sandbox) Exists(ctx context.Context, name string) (bool, error) {
	_, err := s.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Remove deletes a file, or a folder with all in it. The workspace itself cannot be
// removed.
func (s *Sandbox) Remove(ctx context.Context, name string) error {
	_, err := do(s, ctx, "remove", name, func(ctx context.Context, d driver.Sandbox) (struct{}, error) {
		return struct{}{}, d.Remove(ctx, name)
	})
	return err
}

// Walk visits what is below a folder, depth first and sorted. It does not follow
// symbolic links. As with [fs.WalkDir], fn is called again for a folder that cannot be
// listed, with the error: what fn returns decides whether the walk goes on. It may return
// [fs.SkipDir] for a folder and [fs.SkipAll].
func (s *Sandbox) Walk(ctx context.Context, name string, fn func(Entry, error) error) error {
	entries, err := s.List(ctx, name)
	if err == nil {
		err = s.walk(ctx, entries, fn)
	}
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (s *Sandbox) walk(ctx context.Context, entries []Entry, fn func(Entry, error) error) error {
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return wrap("walk", e.Path, err)
		}
		err := fn(e, nil)
		if err == nil && e.IsDir {
			err = s.enter(ctx, e, fn)
		}
		if err != nil && !(e.IsDir && errors.Is(err, fs.SkipDir)) {
			return err
		}
	}
	return nil
}

// enter walks a folder that fn has seen.
func (s *Sandbox) enter(ctx context.Context, dir Entry, fn func(Entry, error) error) error {
	entries, err := s.List(ctx, dir.Path)
	if err != nil {
		return fn(dir, err)
	}
	return s.walk(ctx, entries, fn)
}

// Close ends everything that still runs in the sandbox and waits for it. Later calls
// fail with ErrClosed. Closing again does nothing.
func (s *Sandbox) Close() error {
	s.stop(ErrClosed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	d := s.d
	if s.fork != nil {
		d = s.fork.opened
	}
	if d == nil {
		return nil
	}
	return wrap("close", s.url, d.Close())
}

// do runs one operation of an open sandbox under a context that ends when the sandbox
// closes.
func do[T any](s *Sandbox, ctx context.Context, op, name string, fn func(context.Context, driver.Sandbox) (T, error)) (T, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var none T
	if s.closed {
		return none, wrap(op, name, ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return none, wrap(op, name, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(ErrClosed) })()
	var out T
	d, err := s.driver(ctx)
	if err == nil {
		out, err = fn(ctx, d)
	}
	if err != nil && context.Cause(ctx) == ErrClosed {
		err = ErrClosed
	}
	return out, wrap(op, name, err)
}
