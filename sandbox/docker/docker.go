// Package docker opens a container of a Docker engine as a sandbox, with the workspace at
// /workspace: a directory of this machine that is bound there, or a volume of its own.
//
// Commands are processes in the container, without capabilities (but see [Options].User),
// without a way to new privileges, and without a network unless the policy allows one.
// They see the image's files, the workspace, and the paths that the policy names. Files
// are reached by a shell in the container that has the rights of commands and no more, so
// that no name and no link leads further than a command could go. The image must have
// /bin/sh and what a busybox has beside it: cat, chmod, head, mkdir, mv, readlink, rm,
// stat, tail and xargs; tar too for forks of a volume.
//
// The code of a command that a signal ended is 128 and the signal's number. When a command
// is cancelled, its session is killed, and whatever else bears its mark in
// the environment; what has left the session and wiped its environment lives on until the
// sandbox closes. Where nothing can be killed because there is no room for one more
// process, the container is started anew, which ends all other commands in it too.
//
// Close removes the container, its volume and the images that forks were made from. When
// the program is killed, its containers end at once; what is left of them bears labels, by
// which [Client] finds and removes it. Options.Persistent has both stay.
//
// Next: [github.com/openrath-go/rath/sandbox/opensandbox].
package docker

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/client"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/internal/code"
	"github.com/openrath-go/rath/workspace"
)

// Root is where commands find the workspace.
const Root = "/workspace"

// Options are the settings of a sandbox. Image must be set, except for [Attach].
type Options struct {
	// Host is the engine's address, such as "unix:///var/run/docker.sock". Empty: what
	// DOCKER_HOST says, or else the usual one.
	Host string
	// Image is what the container is made from. It is not pulled: it must be there.
	Image string
	// Dir is a directory of this machine that is the workspace. Empty: a volume, which goes
	// with the sandbox.
	Dir string
	// Policy is what to enforce. Its paths are bound into the container under the same
	// names, or where they are inside Dir, in the workspace. Limits.Memory and
	// Limits.Processes bound the container as a whole too; what Rath itself runs there, up
	// to 8 processes, counts.
	Policy sandbox.Policy
	// Getenv looks up the variables that Policy.Env names. nil: the program's own.
	Getenv func(string) (string, bool)
	// Env are variables that commands get beside the image's, KEY=VALUE. They are kept with
	// the container, where whoever may use the engine can read them.
	Env []string
	// Hidden names files and folders, absolute or relative to Dir. Those that are there when
	// the sandbox opens are covered: commands find them empty, and file operations refuse
	// them with [sandbox.ErrHidden]. What is outside Dir is not there anyway.
	Hidden []string
	// User is who commands run as, numbers such as "1000:1000". Empty: whoever runs this
	// program, so that files in Dir are theirs; with a volume, 1000:1000. Only the superuser
	// keeps capabilities, those to reach, own and change the files of others.
	User string
	// ReadOnlyRoot has commands change nothing but the workspace, what the policy makes
	// writable, and /tmp, which is in memory then.
	ReadOnlyRoot bool
	// Name is what the sandbox is called in listings. It need not be unique.
	Name string
	// Persistent has Close leave the container and its volume for [Attach]. Processes that
	// commands have left are ended all the same.
	Persistent bool
	// Workspace keeps the snapshots of the workspace, and forks it. nil: there are none.
	Workspace *workspace.Store
}

// box is the driver.
type box struct {
	mark
	spec
	engine    *client.Client
	container string // the engine's id
	getenv    func(string) (string, bool)
	alias     []string // directories that this is a fork of
	seccomp   bool
	languages []string
	handle    string // marks the processes of this handle: others may be attached too

	keeper
	dir    *workspace.Fork // that spec.Dir is, if this is a fork
	images []string        // that this and the forks it comes from were made from, its own first

	idle       chan *clerk
	restarting sync.Mutex
	mu         sync.Mutex
	leash      *leash // nil: it is persistent
}

// keeper is what a [driver.Forker] does with files.
type keeper interface {
	Workspace() *workspace.Store
	Snapshot(context.Context) (*workspace.Snapshot, error)
	Apply(ctx context.Context, from, to driver.SnapshotID) (driver.SnapshotID, error)
	Restore(ctx context.Context, id driver.SnapshotID) (driver.SnapshotID, error)
}

// closeTime bounds what is done for good measure, when nobody waits with a context.
const closeTime = time.Minute

// Open makes and starts a container. A policy that the engine cannot enforce is refused
// with a [*sandbox.PolicyError]. When Open fails, nothing is left. ctx bounds the opening
// only. The sandbox's ID is what [Attach] and [Client] know it by.
func Open(ctx context.Context, opts *Options) (*sandbox.Sandbox, error) {
	if opts == nil {
		opts = &Options{}
	}
	b, err := open(ctx, opts)
	if err != nil {
		return nil, &sandbox.Error{Op: "open sandbox", Name: "docker:" + opts.Image, Err: err}
	}
	return sandbox.New(b), nil
}

func open(ctx context.Context, opts *Options) (*box, error) {
	s, err := newSpec(opts)
	if err != nil {
		return nil, err
	}
	b, err := newBox(opts)
	if err != nil {
		return nil, err
	}
	b.spec, b.mark = s, newMark(opts.Name, opts.Persistent)
	if err := b.launch(ctx, s.Image); err != nil {
		return nil, err
	}
	return b, nil
}

// Attach takes up a sandbox that was opened with Options.Persistent, by its ID or the name
// or id of its container, and starts the container if it does not run. The image, the
// directory, the policy and what else it was made with stay; of the options only Host,
// Getenv and Workspace count. It may be open more than once.
func Attach(ctx context.Context, id string, opts *Options) (*sandbox.Sandbox, error) {
	if opts == nil {
		opts = &Options{}
	}
	b, err := attach(ctx, id, opts)
	if err != nil {
		return nil, &sandbox.Error{Op: "attach to sandbox", Name: "docker:" + id, Err: err}
	}
	return sandbox.New(b), nil
}

func attach(ctx context.Context, id string, opts *Options) (*box, error) {
	b, err := newBox(opts)
	if err != nil {
		return nil, err
	}
	if err := b.find(ctx, id); err != nil {
		return nil, errors.Join(err, b.disconnect())
	}
	return b, nil
}

// find takes up a container.
func (b *box) find(ctx context.Context, id string) error {
	found, err := inspect(ctx, b.engine, id)
	if err != nil {
		return err
	}
	if b.mark, err = markOf(found.Config.Labels); err == nil {
		b.spec, err = specOf(found.Config.Labels)
	}
	switch {
	case err != nil:
		return err
	case !b.Persistent:
		return errNotPersistent
	case found.State.Paused:
		return errPaused
	}
	b.container = found.ID
	if !found.State.Running {
		if err := b.start(ctx); err != nil {
			return err
		}
	}
	return b.settle(ctx)
}

func newBox(opts *Options) (*box, error) {
	engine, err := connect(opts.Host)
	if err != nil {
		return nil, err
	}
	b := &box{engine: engine, getenv: opts.Getenv, handle: uuid.NewString(), idle: make(chan *clerk, maxIdle)}
	if b.getenv == nil {
		b.getenv = os.LookupEnv
	}
	b.keeper = driver.Folder{Store: opts.Workspace} // as far as is known yet
	return b, nil
}

// launch makes the container and what it needs. When it fails, nothing is left.
func (b *box) launch(ctx context.Context, image string) error {
	err := b.make(ctx, image)
	if err == nil {
		err = b.start(ctx)
	}
	if err == nil {
		err = b.settle(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return errors.Join(err, b.Close())
	}
	return nil
}

// start starts the container. One that is not persistent gets a leash first: it ends when
// its standard input does.
func (b *box) start(ctx context.Context) error {
	if !b.Persistent {
		leash, err := b.engine.ContainerAttach(ctx, b.container, client.ContainerAttachOptions{Stream: true, Stdin: true})
		if err != nil {
			return explain(err)
		}
		b.tie(newLeash(leash.Conn))
	}
	_, err := b.engine.ContainerStart(ctx, b.container, client.ContainerStartOptions{})
	return startError(err)
}

// settle finds out what the container has, and that it has what it should.
func (b *box) settle(ctx context.Context) error {
	if err := b.verify(ctx); err != nil {
		return err
	}
	b.languages = code.Languages(b)
	return b.keep(ctx)
}

func (b *box) Placement() driver.Placement {
	dir := b.Dir
	if dir == "" {
		dir = containerName(b.ID) + ":" + Root
	}
	return driver.Placement{
		Backend: "docker", Level: b.Policy().Level, ID: b.ID,
		Spec: driver.Spec{Image: b.Image, WorkingDir: dir},
	}
}

func (b *box) Policy() driver.Policy { return b.Rules }

func (b *box) Capabilities() driver.Capabilities {
	keeps := b.Workspace() != nil
	return driver.Capabilities{
		Exec: true, Files: true, Languages: b.languages, Snapshot: keeps, Fork: keeps,
		FileDeny: true, PIDHide: true, SignalDeny: true, SyscallDeny: b.seccomp,
		NetDeny: b.Rules.Network != driver.NetworkAllow, NetLoopback: b.Rules.Network != driver.NetworkAllow,
	}
}

// Close ends what commands have left, and removes the container and all that it needed,
// unless it is persistent.
func (b *box) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	var err error
	if b.Persistent && b.container != "" {
		err = b.end(ctx, markHandle+"="+b.handle)
	} else {
		err = b.remove(ctx)
	}
	if c, ok := b.keeper.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	if b.dir != nil {
		err = errors.Join(err, b.dir.Close())
	}
	return errors.Join(err, b.disconnect())
}

// remove removes all that bears the sandbox's mark, what is not known of because its making
// was cut off too, and the images that it was the last to need.
func (b *box) remove(ctx context.Context) error {
	c := Client{b.engine}
	found, err := c.list(ctx, labelID+"="+b.ID)
	for _, i := range found {
		err = errors.Join(err, i.remove(ctx, b.engine))
	}
	for _, image := range b.images {
		err = errors.Join(err, removeImage(ctx, b.engine, image))
	}
	return err
}

// disconnect closes all connections to the engine.
func (b *box) disconnect() error {
	for {
		select {
		case c := <-b.idle:
			c.close()
			continue
		default:
		}
		break
	}
	b.tie(nil)
	return b.engine.Close()
}
