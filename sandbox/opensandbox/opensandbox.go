// Package opensandbox opens a sandbox of an OpenSandbox server, a container for most of
// them, with the workspace at /workspace.
//
// Commands run in the sandbox and files are reached through the daemon in it. What
// isolates the sandbox is the server's business, and is not claimed; only that the network
// is denied is, where the policy asks for it and the server says that it enforces it.
//
// The daemon tells output as lines of text, so that a command writes to files beside the
// workspace, from which its output is read while it runs and when it has ended. Standard
// input is read to its end before a command starts.
//
// A sandbox expires unless it is renewed, which an open one is. When the program dies, its
// sandboxes go that way, or [Client] finds and ends them: see [Info.Orphaned].
//
// Next: [github.com/openrath-go/rath/sandbox/registry], which finds sandboxes again.
package opensandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/internal/mirror"
	"github.com/openrath-go/rath/workspace"
)

// Level is what the isolation of these sandboxes is called. How strong it is depends on
// the server.
const Level = "container"

// Root is where the workspace is in a sandbox.
const Root = "/workspace"

// Options are the settings of a sandbox. URL and one of Image and SnapshotID must be set;
// [Attach] needs only URL.
type Options struct {
	URL    string // of the server: "http://localhost:8080"
	APIKey string // empty: the server wants none

	Image      string
	ImageAuth  *ImageAuth
	SnapshotID string // of the server's
	Entrypoint []string
	Env        map[string]string
	Resources  map[string]string // nil: {"cpu": "1", "memory": "2Gi"}
	Metadata   map[string]string // more labels: Kubernetes' rules hold for keys and values
	Extensions map[string]string // for the server
	// Name is what the sandbox is called; it becomes a label.
	Name string

	// Timeout is how long the sandbox lives when nobody renews it, 10 minutes if it is 0,
	// at least one; less than 0: until it is deleted, which some servers refuse.
	Timeout time.Duration
	// ReadyTimeout is how long to wait until it runs, 5 minutes if it is 0: the server may
	// have to pull the image.
	ReadyTimeout time.Duration
	// Persistent has Close leave the sandbox to its timeout, for [Attach] to take up.
	Persistent bool

	// Dir is a directory of this machine that is bound as the workspace. If the server
	// cannot bind it, it is uploaded; what happens in the sandbox then does not show in it.
	// Empty: the workspace is the sandbox's own.
	Dir string
	// StrictBind refuses a server that cannot bind Dir.
	StrictBind bool
	// Exclude are slash paths below Dir that the sandbox must not have. If one of them is
	// there, Dir is not bound but uploaded without it.
	Exclude []string

	// UseServerProxy has all requests go through the server, for sandboxes that cannot be
	// reached from here.
	UseServerProxy bool
	Policy         sandbox.Policy
	// Workspace keeps the snapshots of the workspace, and forks it. nil: there are none.
	Workspace *workspace.Store
	// HTTP makes the requests. nil: a client with connections of its own.
	HTTP *http.Client
}

const (
	defaultTimeout      = 10 * time.Minute
	minTimeout          = time.Minute
	defaultReadyTimeout = 5 * time.Minute
	closeTime           = 30 * time.Second
)

// box is the driver.
type box struct {
	id      string // the server's
	handle  string // a UUID
	opts    Options
	client  *Client
	execd   *Execd
	root    string // Root without symbolic links
	info    Info
	policy  driver.Policy
	netDeny bool
	bound   bool // Options.Dir is the workspace
	tools   []string
	kernels bool // the daemon runs python in contexts

	keeper                 // nil: there are no snapshots
	dir    *workspace.Fork // that Options.Dir is, if this is a fork
	taken  string          // the server's snapshot that this fork was made from
	stop   func()          // ends the renewal and waits for it
}

// keeper is what a [driver.Forker] does with files.
type keeper interface {
	Snapshot(context.Context) (*workspace.Snapshot, error)
	Apply(ctx context.Context, from, to driver.SnapshotID) (driver.SnapshotID, error)
	Restore(ctx context.Context, id driver.SnapshotID) (driver.SnapshotID, error)
	Close() error
}

// Open makes a sandbox and waits until it is ready. A policy that the server cannot
// enforce is refused with a [*sandbox.PolicyError]. When Open fails, nothing is left of
// the sandbox. ctx bounds the opening only. [sandbox.Sandbox.ID] of it is the server's
// id, for [Attach].
func Open(ctx context.Context, opts *Options) (*sandbox.Sandbox, error) {
	b, err := open(ctx, opts)
	if err != nil {
		name := ""
		if opts != nil {
			name = opts.Image + opts.SnapshotID
		}
		return nil, &sandbox.Error{Op: "open sandbox", Name: "opensandbox:" + name, Err: err}
	}
	return sandbox.New(b), nil
}

// Attach takes up a sandbox that is there, by the server's id. Close deletes it unless
// Options.Persistent is set. Of the other options those count that are not about how a
// sandbox is made; Dir says which directory it has been bound to, and is not uploaded.
func Attach(ctx context.Context, id string, opts *Options) (*sandbox.Sandbox, error) {
	b, err := attach(ctx, id, opts)
	if err != nil {
		return nil, &sandbox.Error{Op: "attach sandbox", Name: "opensandbox:" + id, Err: err}
	}
	return sandbox.New(b), nil
}

func open(ctx context.Context, opts *Options) (*box, error) {
	b, err := newBox(opts)
	if err != nil {
		return nil, err
	}
	return b, b.start(ctx)
}

// start makes the sandbox of a box, or leaves nothing.
func (b *box) start(ctx context.Context) error {
	if (b.opts.Image == "") == (b.opts.SnapshotID == "") {
		return errors.New("exactly one of Image and SnapshotID must be set")
	}
	asked := time.Now()
	err := b.create(ctx)
	if err == nil {
		err = b.begin(ctx)
	}
	if err == nil && b.opts.Dir != "" && !b.bound {
		err = b.uploadDir(ctx)
	}
	if err != nil {
		b.abandon(ctx)
		return err
	}
	b.renew(granted(b.info, asked))
	return nil
}

func attach(ctx context.Context, id string, opts *Options) (*box, error) {
	b, err := newBox(opts)
	if err != nil {
		return nil, err
	}
	b.id, b.bound = id, b.opts.Dir != ""
	if b.info, err = b.client.Get(ctx, id); err == nil {
		err = b.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.end())
	}
	b.renew(b.takenUp(ctx))
	return b, nil
}

// newBox checks the options.
func newBox(opts *Options) (*box, error) {
	if opts == nil {
		opts = &Options{}
	}
	b := &box{opts: *opts, handle: uuid.NewString(), stop: func() {}}
	o := &b.opts
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Timeout > 0 {
		o.Timeout = max(o.Timeout, minTimeout)
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = defaultReadyTimeout
	}
	var err error
	if o.Dir != "" {
		if o.Dir, err = filepath.Abs(o.Dir); err == nil {
			o.Dir, err = filepath.EvalSymlinks(o.Dir)
		}
		if err != nil {
			return nil, fmt.Errorf("the directory: %w", err)
		}
	}
	if b.policy, err = settle(o.Policy); err != nil {
		return nil, err
	}
	b.client, err = NewClient(o.URL, o.APIKey, o.HTTP)
	return b, err
}

// begin waits for a sandbox that is there, and finds out what it can do.
func (b *box) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.opts.ReadyTimeout, fmt.Errorf("it did not become ready in %v", b.opts.ReadyTimeout))
	defer cancel()
	if err := b.ready(ctx); err != nil {
		return err
	}
	if err := b.verifyNetwork(ctx); err != nil {
		return err
	}
	if err := b.survey(ctx); err != nil {
		return err
	}
	if store := b.opts.Workspace; store != nil {
		if err := b.keep(ctx, store); err != nil {
			return err
		}
	}
	return nil
}

// ready waits until the sandbox runs and its daemon answers.
func (b *box) ready(ctx context.Context) error {
	info, err := b.client.await(ctx, b.id, StateRunning)
	if err != nil {
		return err
	}
	b.info = info
	_, err = poll(ctx, func() (_ struct{}, done bool, err error) {
		if b.execd == nil {
			if b.execd, err = b.client.Execd(ctx, b.id, b.opts.UseServerProxy); err != nil {
				return struct{}{}, false, err
			}
		}
		err = b.execd.Ping(ctx)
		return struct{}{}, err == nil, err
	}, "the daemon of sandbox "+b.id)
	return err
}

// survey makes the workspace if there is none, and looks for programs and kernels.
func (b *box) survey(ctx context.Context) error {
	var probe sync.WaitGroup
	probe.Go(func() { b.kernels = b.hasKernels(ctx) })
	defer probe.Wait()
	out, err := b.script(ctx, surveyScript, Root)
	if err != nil {
		return fmt.Errorf("make the workspace: %w", err)
	}
	b.root, b.tools = out[0], out[1:]
	return nil
}

// surveyScript prints the workspace's name without links, and the programs there are.
const surveyScript = `mkdir -p "$1" && cd "$1" && pwd -P || exit
for p in python3 bash node go tar; do command -v "$p" >/dev/null && echo "$p"; done; true`

func (b *box) has(tool string) bool { return slices.Contains(b.tools, tool) }

// keep prepares for snapshots.
func (b *box) keep(ctx context.Context, store *workspace.Store) error {
	if b.bound {
		b.keeper = folder{driver.Folder{Store: store, Dir: b.opts.Dir}}
		return nil
	}
	m, err := mirror.New(ctx, store, b)
	if err == nil {
		b.keeper = m
	}
	return err
}

// folder is a workspace that is a directory of this machine.
type folder struct{ driver.Folder }

// Close leaves the directory.
func (folder) Close() error { return nil }

// Workspace returns the store, nil if there are no snapshots.
func (b *box) Workspace() *workspace.Store { return b.opts.Workspace }

func (b *box) Placement() driver.Placement {
	return driver.Placement{
		Backend: "opensandbox", Level: Level, ID: b.id,
		Spec: driver.Spec{
			Image: b.opts.Image, Entrypoint: b.opts.Entrypoint, Env: b.opts.Env,
			Timeout: max(b.opts.Timeout, 0), WorkingDir: b.workingDir(),
		},
	}
}

// workingDir is where the workspace is: on this machine, if it is bound.
func (b *box) workingDir() string {
	if b.bound {
		return b.opts.Dir
	}
	return Root
}

func (b *box) Capabilities() driver.Capabilities {
	keeps := b.opts.Workspace != nil
	return driver.Capabilities{
		Exec: true, Files: true, Languages: b.languages(), Snapshot: keeps, Fork: keeps,
		NetDeny: b.netDeny, NetLoopback: b.netDeny && b.policy.Network == driver.NetworkLoopback,
	}
}

func (b *box) Policy() driver.Policy { return b.policy }

// Close deletes the sandbox, or leaves it with nothing running in it that was started
// here.
func (b *box) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	b.stop()
	var err error
	if b.opts.Persistent {
		err = b.sweep(ctx, markHandle+"="+b.handle)
	} else {
		err = b.client.Delete(ctx, b.id)
	}
	if errors.Is(err, ErrNotFound) {
		err = nil // it has expired
	}
	return errors.Join(err, b.end())
}

// end lets go of what is on this machine, and of the server's snapshot.
func (b *box) end() (err error) {
	b.stop()
	if b.keeper != nil {
		err = b.keeper.Close()
	}
	if b.execd != nil {
		b.execd.Close()
	}
	err = errors.Join(err, b.deleteTaken())
	if b.dir != nil {
		err = errors.Join(err, b.dir.Close())
	}
	if b.opts.HTTP == nil {
		b.client.Close()
	}
	return err
}

// abandon deletes a sandbox whose opening has failed.
func (b *box) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	b.stop()
	if b.id != "" {
		_ = b.client.Delete(ctx, b.id)
	}
	_ = b.end()
}

// explain says what has become of the sandbox when its daemon fails.
func (b *box) explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !(passing(err) || errors.Is(err, driver.ErrUnsupported) || errors.Is(err, ErrNotFound)) {
		return err
	}
	if gone := b.gone(ctx, err); gone != nil {
		return gone
	}
	return err
}

// gone returns an error if the sandbox does not run, as the reason for another one.
func (b *box) gone(ctx context.Context, because error) error {
	info, err := b.client.Get(ctx, b.id)
	switch {
	case errors.Is(err, ErrNotFound):
		return &GoneError{ID: b.id, Err: because}
	case err == nil && info.Status.State != StateRunning:
		return &GoneError{b.id, info.Status.State, info.Status.Reason, because}
	}
	return nil
}

var _ driver.Forker = (*box)(nil)
