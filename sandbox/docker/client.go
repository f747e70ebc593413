package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/uuid"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/openrath-go/rath/sandbox"
)

// Client lists and ends the sandboxes of an engine. It is safe for concurrent use. Errors
// are of type [*sandbox.Error]; what is not there is [ErrNotFound].
type Client struct{ engine *client.Client }

// NewClient returns the client of the engine at an address, as [Options].Host has it. The
// engine is not asked yet.
func NewClient(host string) (*Client, error) {
	engine, err := connect(host)
	if err != nil {
		return nil, &sandbox.Error{Op: "connect to engine", Name: host, Err: err}
	}
	return &Client{engine}, nil
}

// Close ends the connections to the engine.
func (c *Client) Close() error { return c.engine.Close() }

// Info is what an engine has of a sandbox that Rath has made.
type Info struct {
	ID         string // for [Attach]
	Name       string
	Persistent bool
	Image      string // that it was made from
	Dir        string // the directory that is its workspace; empty: a volume
	State      string // of the container: "running", "paused", "exited"; empty: there is none
	Created    time.Time

	orphaned   bool
	containers []string // the engine's ids
	volumes    []string
	images     []string
}

// Orphaned reports whether the sandbox was left by a program of this machine that is gone.
// Persistent ones never are.
func (i Info) Orphaned() bool { return i.orphaned }

// List returns the sandboxes that Rath has made, the oldest first, and those of which only
// a volume or an image is left.
func (c *Client) List(ctx context.Context) ([]Info, error) {
	all, err := c.list(ctx, labelRath+"=1")
	if err != nil {
		return nil, &sandbox.Error{Op: "list sandboxes", Name: "docker", Err: err}
	}
	return all, nil
}

// Get returns one sandbox.
func (c *Client) Get(ctx context.Context, id string) (Info, error) {
	all, err := c.list(ctx, labelID+"="+id)
	if err == nil && len(all) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Info{}, &sandbox.Error{Op: "look up sandbox", Name: "docker:" + id, Err: err}
	}
	return all[0], nil
}

// Delete ends a sandbox, in use or not, and removes all that is left of it. The directory
// that is its workspace stays as it is.
func (c *Client) Delete(ctx context.Context, id string) error {
	i, err := c.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := i.remove(ctx, c.engine); err != nil {
		return &sandbox.Error{Op: "delete sandbox", Name: "docker:" + id, Err: err}
	}
	return nil
}

// Pause stops all processes of a sandbox where they are. Until it is resumed, its
// operations fail.
func (c *Client) Pause(ctx context.Context, id string) error {
	_, err := c.engine.ContainerPause(ctx, containerName(id), client.ContainerPauseOptions{})
	return wrap("pause sandbox", id, err)
}

// Resume has a paused sandbox go on.
func (c *Client) Resume(ctx context.Context, id string) error {
	_, err := c.engine.ContainerUnpause(ctx, containerName(id), client.ContainerUnpauseOptions{})
	return wrap("resume sandbox", id, err)
}

func wrap(op, id string, err error) error {
	if err == nil {
		return nil
	}
	return &sandbox.Error{Op: op, Name: "docker:" + id, Err: explain(err)}
}

// list puts together what bears the same mark.
func (c *Client) list(ctx context.Context, label string) ([]Info, error) {
	filter := make(client.Filters).Add("label", label)
	containers, err := c.engine.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		return nil, explain(err)
	}
	volumes, err := c.engine.VolumeList(ctx, client.VolumeListOptions{Filters: filter})
	if err != nil {
		return nil, explain(err)
	}
	images, err := c.engine.ImageList(ctx, client.ImageListOptions{All: true, Filters: filter})
	if err != nil {
		return nil, explain(err)
	}
	g := gathering{}
	for _, found := range containers.Items {
		if i := g.of(found.Labels, time.Unix(found.Created, 0)); i != nil {
			i.containers, i.State = append(i.containers, found.ID), string(found.State)
			s, _ := specOf(found.Labels)
			i.Image, i.Dir = s.Image, s.Dir
		}
	}
	for _, found := range volumes.Items {
		made, _ := time.Parse(time.RFC3339, found.CreatedAt)
		if i := g.of(found.Labels, made); i != nil {
			i.volumes = append(i.volumes, found.Name)
		}
	}
	for _, found := range images.Items {
		if i := g.of(found.Labels, time.Unix(found.Created, 0)); i != nil {
			i.images = append(i.images, found.ID)
		}
	}
	return g.sorted(), nil
}

// gathering is what has been found of sandboxes, by their IDs.
type gathering map[string]*Info

// of returns what is known of the sandbox that labels tell of, nil if they tell of none.
func (g gathering) of(labels map[string]string, created time.Time) *Info {
	m, err := markOf(labels)
	if err != nil {
		return nil
	}
	i := g[m.ID]
	if i == nil {
		i = &Info{ID: m.ID, Name: m.Name, Persistent: m.Persistent, Created: created, orphaned: m.orphaned()}
		g[m.ID] = i
	}
	return i
}

func (g gathering) sorted() []Info {
	all := make([]Info, 0, len(g))
	for _, i := range g {
		all = append(all, *i)
	}
	slices.SortFunc(all, func(a, b Info) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return all
}

// remove removes all that the engine has of a sandbox. What is not there any more is no
// error.
func (i Info) remove(ctx context.Context, engine *client.Client) error {
	var errs error
	for _, id := range i.containers {
		_, err := engine.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		errs = errors.Join(errs, gone(ctx, engine, id, err))
	}
	for _, name := range i.volumes {
		_, err := engine.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
		if err != nil && !errdefs.IsNotFound(err) {
			errs = errors.Join(errs, fmt.Errorf("volume %s: %w", name, explain(err)))
		}
	}
	for _, image := range i.images {
		errs = errors.Join(errs, removeImage(ctx, engine, image))
	}
	return errs
}

// gone waits for a container that somebody else is removing.
func gone(ctx context.Context, engine *client.Client, id string, err error) error {
	if errdefs.IsConflict(err) {
		wait := engine.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
		select {
		case <-wait.Result:
			return nil
		case err = <-wait.Error:
		}
	}
	if err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("container %.12s: %w", id, explain(err))
}

// removeImage removes an image that a fork was made from. One that another fork needs
// stays: that one removes it.
func removeImage(ctx context.Context, engine *client.Client, id string) error {
	_, err := engine.ImageRemove(ctx, id, client.ImageRemoveOptions{})
	if err == nil || errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("image %s: %w", id, explain(err))
}

// inspect returns a container by its sandbox's ID, or its own name or id.
func inspect(ctx context.Context, engine *client.Client, id string) (container.InspectResponse, error) {
	if uuid.Validate(id) == nil {
		id = containerName(id)
	}
	found, err := engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	return found.Container, explain(err)
}
