package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/docker"
)

func openDocker(ctx context.Context, o opening, keep *keeping) (*sandbox.Sandbox, error) {
	opts := &docker.Options{Image: o.name, Dir: o.Dir, Policy: o.Policy}
	if o.Dir != "" {
		opts.Hidden = o.hidden(o.Dir)
	}
	if keep != nil {
		opts.Name, opts.Persistent = keep.name+atHome(o.home), true
	}
	var err error
	if opts.Workspace, err = o.workspaces(ctx, o.Dir, excluded(o.Dir, opts.Hidden)); err != nil {
		return nil, err
	}
	return docker.Open(ctx, opts)
}

// atHome ends the name of a container that stays: it says where it is registered.
func atHome(home string) string { return "@" + homeMark(home) }

func attachDocker(ctx context.Context, o opening, id string) (*sandbox.Sandbox, error) {
	var hidden []string
	if o.Dir != "" {
		hidden = o.hidden(o.Dir)
	}
	st, err := o.workspaces(ctx, o.Dir, excluded(o.Dir, hidden))
	if err != nil {
		return nil, err
	}
	sb, err := docker.Attach(ctx, id, &docker.Options{Workspace: st})
	if errors.Is(err, docker.ErrNotFound) {
		err = &hinted{err, "somebody has removed the container: rath sandboxes rm forgets it"}
	}
	return sb, err
}

// withDocker calls a function with the client of the engine.
func withDocker(do func(c *docker.Client) error) error {
	c, err := docker.NewClient("")
	if err != nil {
		return err
	}
	return errors.Join(do(c), c.Close())
}

func endDocker(ctx context.Context, id string) error {
	return withDocker(func(c *docker.Client) error {
		if err := c.Delete(ctx, id); !errors.Is(err, docker.ErrNotFound) {
			return err
		}
		return nil
	})
}

// collectContainers removes those whose program is gone, and those which were to stay in
// this home, but came not so far as to be registered.
func collectContainers(ctx context.Context, home string, kept map[string]bool) (found []leftover, err error) {
	err = withDocker(func(c *docker.Client) error {
		all, err := c.List(ctx)
		if err != nil {
			if noEngine() {
				return nil
			}
			return err
		}
		for _, i := range all {
			lost := strings.HasSuffix(i.Name, atHome(home)) && time.Since(i.Created) > registering
			if kept[i.ID] || !lost && !i.Orphaned() {
				continue
			}
			if err = c.Delete(ctx, i.ID); errors.Is(err, docker.ErrNotFound) {
				err = nil
			}
			found = append(found, removed("container", i.ID, err))
		}
		return nil
	})
	return found, err
}

// noEngine reports whether nobody expects an engine here.
func noEngine() bool {
	_, err := os.Stat("/var/run/docker.sock")
	return err != nil && os.Getenv("DOCKER_HOST") == ""
}

// examineDocker says whether an engine answers.
func examineDocker(ctx context.Context) (f finding) {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	err := withDocker(func(c *docker.Client) error {
		all, err := c.List(ctx)
		f = finding{"sandbox", "ok", fmt.Sprintf("docker: the engine answers; sandboxes of Rath's: %d", len(all))}
		return err
	})
	if err != nil {
		f = finding{"sandbox", "problem", "docker: " + withHint(err)}
		if noEngine() {
			f.State = "note"
		}
	}
	return f
}
