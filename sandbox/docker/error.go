package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// ErrNotFound is that an engine has no such sandbox, or no such image.
var ErrNotFound = errors.New("the engine has nothing of that name")

var (
	errNotPersistent = hinted{errors.New("it goes with the program that opened it"), "open it with Options.Persistent"}
	errPaused        = hinted{errors.New("it is paused"), "resume it first"}
)

// hinted is an error with what can be done about it.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

// Hint says what can be done about it.
func (e hinted) Hint() string { return e.hint }

// connect returns the client of an engine, which is not asked yet.
func connect(host string) (*client.Client, error) {
	opts := []client.Opt{client.FromEnv}
	if host != "" {
		opts = append(opts, client.WithHost(host))
	}
	engine, err := client.New(opts...)
	if err != nil {
		return nil, fmt.Errorf("the engine's address: %w", err)
	}
	return engine, nil
}

// explain gives an engine's error our names, and says what to do about it.
func explain(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case client.IsErrConnectionFailed(err):
		return hinted{err, "start the engine, or name another one with DOCKER_HOST; its socket may also be closed to this user"}
	case errdefs.IsNotFound(err):
		return fmt.Errorf("%w: %s", ErrNotFound, message(err))
	case strings.Contains(err.Error(), "is paused"):
		return errPaused
	}
	return err
}

// message is what an engine says, without the client's words before it.
func message(err error) string {
	return strings.TrimPrefix(err.Error(), "Error response from daemon: ")
}

// startError says why a container or a command does not start.
func startError(err error) error {
	if err != nil && strings.Contains(err.Error(), `exec: "/bin/sh"`) {
		return hinted{errors.New("the image has no /bin/sh"), "use an image with a shell, busybox at the least"}
	}
	return explain(err)
}
