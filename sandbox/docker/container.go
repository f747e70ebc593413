package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"github.com/openrath-go/rath/sandbox/driver"
)

// first is the container's first process. It waits for the end of its standard input, and
// meanwhile for processes that nobody else waits for. Signals that commands send it do
// nothing, and the process that reads for it is replaced if they kill it.
const first = `exec 3<&0 </dev/null; until cat <&3 >/dev/null & wait $!; do :; done`

// home is where programs keep what is theirs.
const home = "/home/rath"

// make makes the container and its volume.
func (b *box) make(ctx context.Context, image string) error {
	info, err := b.engine.Info(ctx, client.InfoOptions{})
	if err != nil {
		return explain(err)
	}
	if err := b.enforceable(info.Info); err != nil {
		return err
	}
	if b.Dir == "" {
		if err := b.makeVolume(ctx); err != nil {
			return err
		}
	}
	options, err := b.config(image)
	if err != nil {
		return err
	}
	if b.container, err = b.create(ctx, options); err != nil {
		return createError(err, image)
	}
	return b.furnish(ctx, options)
}

// makeTime bounds how long the engine takes to make something.
const makeTime = 5 * time.Minute

// whole is the context for making something. An engine goes on when the client does not
// wait, and then nobody would know of it.
func whole(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), makeTime)
}

func (b *box) create(ctx context.Context, options client.ContainerCreateOptions) (id string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	ctx, cancel := whole(ctx)
	defer cancel()
	made, err := b.engine.ContainerCreate(ctx, options)
	return made.ID, err
}

func createError(err error, image string) error {
	if strings.Contains(err.Error(), "No such image") {
		return hinted{fmt.Errorf("image %s: %w", image, ErrNotFound), "docker pull " + image + ", or docker load an archive of it"}
	}
	return explain(err)
}

func (b *box) makeVolume(ctx context.Context) error {
	ctx, cancel := whole(ctx)
	defer cancel()
	b.Volume = containerName(b.ID)
	_, err := b.engine.VolumeCreate(ctx, client.VolumeCreateOptions{Name: b.Volume, Labels: b.labels()})
	return explain(err)
}

// config is the container in the engine's terms.
func (b *box) config(image string) (client.ContainerCreateOptions, error) {
	mounts, err := b.mounts()
	if err != nil {
		return client.ContainerCreateOptions{}, err
	}
	spec, err := b.label()
	if err != nil {
		return client.ContainerCreateOptions{}, err
	}
	host := &container.HostConfig{
		Mounts:         mounts,
		NetworkMode:    "none",
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges"},
		ReadonlyRootfs: b.ReadOnlyRoot,
		LogConfig:      container.LogConfig{Type: "none"},
		Resources:      b.resources(),
	}
	if b.Rules.Network == driver.NetworkAllow {
		host.NetworkMode = "default"
	}
	if strings.HasPrefix(b.User, "0:") {
		// Without them, the superuser would be a stranger to the files of others.
		host.CapAdd = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER"}
	}
	if b.ReadOnlyRoot {
		host.Tmpfs = map[string]string{"/tmp": "rw,exec,nosuid,nodev,mode=1777"}
	}
	return client.ContainerCreateOptions{
		Name:       containerName(b.ID),
		HostConfig: host,
		Config: &container.Config{
			Image: image, User: b.User, WorkingDir: "/", Hostname: "sandbox",
			Entrypoint: []string{"/bin/sh", "-c", first}, Cmd: []string{},
			Env:       append([]string{"HOME=" + b.home()}, b.Env...),
			OpenStdin: true, StdinOnce: !b.Persistent,
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
			Labels:      with(b.labels(), labelSpec, spec),
		},
	}, nil
}

func (b *box) home() string {
	if b.ReadOnlyRoot {
		return "/tmp"
	}
	return home
}

// resources are the limits of the container as a whole. Those of each process are set by
// the shell that becomes it.
func (b *box) resources() (r container.Resources) {
	l := b.Rules.Limits
	if l.Memory > 0 {
		r.Memory, r.MemorySwap = l.Memory, l.Memory // both together: no swap
	}
	if l.Processes > 0 {
		n := int64(l.Processes)
		r.PidsLimit = &n
	}
	return r
}

// mounts are the workspace, the paths of the policy, and what covers hidden files; the
// engine begins with outer ones.
func (b *box) mounts() ([]mount.Mount, error) {
	readOnly, err := b.binds(b.Rules.ReadOnly, true)
	if err != nil {
		return nil, err
	}
	writable, err := b.binds(b.Rules.Writable, false)
	if err != nil {
		return nil, err
	}
	space := mount.Mount{Type: mount.TypeBind, Source: b.Dir, Target: Root}
	if b.Dir == "" {
		space.Type, space.Source = mount.TypeVolume, b.Volume
	}
	all := slices.Concat(b.covers(), readOnly, writable, []mount.Mount{space})
	seen := map[string]bool{}
	all = slices.DeleteFunc(append(all, b.pins(all)...), func(m mount.Mount) bool {
		double := seen[m.Target]
		seen[m.Target] = true
		return double
	})
	return all, nil
}

// binds are paths of the policy, under their names, and where these are other ones, under
// those without links too.
func (b *box) binds(names []string, readOnly bool) (all []mount.Mount, err error) {
	for _, name := range names {
		if !filepath.IsAbs(name) && b.Dir == "" {
			return nil, refusal("rules for "+name, "the workspace is a volume with nothing in it yet", "name a directory as the workspace")
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(b.Dir, name)
		}
		real, err := filepath.EvalSymlinks(name)
		if err != nil {
			return nil, fmt.Errorf("path %s of the policy: %w", name, bare(err))
		}
		m := mount.Mount{Type: mount.TypeBind, Source: real, ReadOnly: readOnly}
		if readOnly {
			// What is mounted inside would not be read-only with every engine.
			m.BindOptions = &mount.BindOptions{NonRecursive: true}
		}
		for _, m.Target = range []string{b.shown(filepath.Clean(name)), b.shown(real)} {
			if m.Target == Root && readOnly {
				return nil, refusal("a workspace that may only be read", "the workspace is there to be written to", "bind another directory, and name this one as read-only")
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// covers are laid over what is hidden, as far as it is there: the engine would make files
// to lay them over.
func (b *box) covers() (all []mount.Mount) {
	for _, name := range b.Hidden {
		m := mount.Mount{Type: mount.TypeBind, Source: os.DevNull, Target: path.Join(Root, name), ReadOnly: true}
		info, err := os.Stat(filepath.Join(b.Dir, filepath.FromSlash(name)))
		if err != nil {
			continue
		}
		if info.IsDir() {
			m.Type, m.Source = mount.TypeTmpfs, ""
		}
		all = append(all, m)
	}
	return all
}

// pins are the folders of the workspace that lead to other mounts. Each is mounted on
// itself, for what is mounted cannot be moved: else a command could give the folder another
// name, and when the container starts again, something else would be at the mount's place.
func (b *box) pins(mounts []mount.Mount) (all []mount.Mount) {
	fixed := func(dir string) bool {
		return slices.ContainsFunc(mounts, func(m mount.Mount) bool { return m.ReadOnly && strings.HasPrefix(dir, m.Target+"/") })
	}
	for _, m := range mounts {
		rel, ok := strings.CutPrefix(m.Target, Root+"/")
		if b.Dir == "" || !ok {
			continue
		}
		for rel = path.Dir(rel); rel != "."; rel = path.Dir(rel) {
			if target := path.Join(Root, rel); !fixed(target) {
				all = append(all, mount.Mount{Type: mount.TypeBind, Source: filepath.Join(b.Dir, filepath.FromSlash(rel)), Target: target})
			}
		}
	}
	return all
}

// furnish makes the folders that commands write to, and gives them the volume. A read-only
// container cannot be furnished; another one, which is never started, has the same volume.
func (b *box) furnish(ctx context.Context, options client.ContainerCreateOptions) error {
	if !b.ReadOnlyRoot {
		return b.putFolders(ctx, b.container)
	}
	if b.Volume == "" {
		return nil
	}
	host := *options.HostConfig
	host.ReadonlyRootfs = false
	options.HostConfig, options.Name = &host, options.Name+"-volume"
	id, err := b.create(ctx, options)
	if err != nil {
		return explain(err)
	}
	err = b.putFolders(ctx, id)
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if _, rerr := b.engine.ContainerRemove(removing, id, client.ContainerRemoveOptions{Force: true}); err == nil {
		err = explain(rerr)
	}
	return err
}

func (b *box) putFolders(ctx context.Context, id string) error {
	var archive bytes.Buffer
	t := tar.NewWriter(&archive)
	uid, gid, _ := strings.Cut(b.User, ":")
	own := tar.Header{Typeflag: tar.TypeDir, Mode: 0o755}
	own.Uid, _ = strconv.Atoi(uid)
	own.Gid, _ = strconv.Atoi(gid)
	folder := func(name string, h tar.Header) error {
		h.Name = strings.TrimPrefix(name, "/") + "/"
		return t.WriteHeader(&h)
	}
	err := folder(path.Dir(home), tar.Header{Typeflag: tar.TypeDir, Mode: 0o755})
	if err == nil {
		err = folder(home, own)
	}
	if err == nil {
		err = folder("/tmp", tar.Header{Typeflag: tar.TypeDir, Mode: 0o1777})
	}
	if err == nil && b.Volume != "" {
		err = folder(Root, own)
	}
	if err == nil {
		err = t.Close()
	}
	if err != nil {
		return err
	}
	_, err = b.engine.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: "/", Content: &archive})
	return explain(err)
}
