package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/internal/mirror"
	"github.com/openrath-go/rath/workspace"
)

// keep sets up what snapshots take.
func (b *box) keep(ctx context.Context) (err error) {
	store := b.Workspace()
	if store == nil || b.Dir != "" {
		b.keeper = driver.Folder{Store: store, Dir: b.Dir}
		return nil
	}
	copy, err := mirror.New(ctx, store, b)
	if err == nil {
		b.keeper = copy
	}
	return err
}

// Fork opens a sandbox in a container that is made from this one's, with all that was
// installed in it. Its workspace is a directory of this machine if this one's is, and
// otherwise a volume.
func (b *box) Fork(ctx context.Context, id driver.SnapshotID) (driver.Sandbox, error) {
	store := b.Workspace()
	f, err := newBox(&Options{Host: b.engine.DaemonHost(), Getenv: b.getenv, Workspace: store})
	if err != nil {
		return nil, err
	}
	f.spec, f.mark = b.spec, newMark(b.Name, false)
	f.Volume = ""
	if b.Dir != "" {
		if f.dir, err = b.forkDir(ctx, store, id); err != nil {
			return nil, errors.Join(err, f.disconnect())
		}
		f.Dir, f.Named = f.dir.Dir, f.dir.Dir
		f.alias = append(slices.Clone(b.alias), b.Dir, b.Named)
		f.Rules.ReadOnly, f.Rules.Writable = b.within(b.Rules.ReadOnly), b.within(b.Rules.Writable)
	}
	image, err := b.commit(ctx, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.images = append([]string{image}, b.images...)
	if err := f.launch(ctx, image); err != nil {
		return nil, err
	}
	if f.Dir == "" {
		if _, err := f.Restore(ctx, id); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// forkDir makes the directory of a fork. The engine may not see what is mounted here, so
// nothing is.
func (b *box) forkDir(ctx context.Context, store *workspace.Store, id driver.SnapshotID) (*workspace.Fork, error) {
	how := &workspace.ForkOptions{Methods: []workspace.Method{workspace.Reflink, workspace.Copy}}
	return store.Fork(ctx, id, how)
}

// within returns the paths with those inside the workspace made relative to it.
func (b *box) within(names []string) []string {
	names = slices.Clone(names)
	for i, name := range names {
		if rel, ok := b.inside(name); ok {
			names[i] = rel
		}
	}
	return names
}

// commit makes an image of the container for a fork. The workspace is not in it.
func (b *box) commit(ctx context.Context, f *box) (string, error) {
	ctx, cancel := whole(ctx)
	defer cancel()
	made, err := b.engine.ContainerCommit(ctx, b.container, client.ContainerCommitOptions{
		Config: &container.Config{Labels: with(f.labels(), labelSpec, "")},
	})
	if err != nil {
		return "", fmt.Errorf("commit the container: %w", explain(err))
	}
	return made.ID, nil
}

// Fetch makes it a [mirror.Remote]: the engine archives the volume.
func (b *box) Fetch(ctx context.Context) (io.ReadCloser, error) {
	from, err := b.engine.CopyFromContainer(ctx, b.container, client.CopyFromContainerOptions{SourcePath: Root + "/."})
	if err != nil {
		return nil, explain(err)
	}
	return from.Content, nil
}

// Deliver makes it a [mirror.Remote]. It changes the volume with the rights of commands,
// for which folders that they may not write to are opened and closed again.
func (b *box) Deliver(ctx context.Context, root *os.Root, remove, put []string) error {
	folders, err := mirror.Folders(root, slices.Concat(remove, put))
	if err != nil {
		return err
	}
	if err := b.clear(ctx, remove, folders); err != nil {
		return err
	}
	if err := b.unpack(ctx, root, put); err != nil {
		return err
	}
	return b.closeFolders(ctx, folders)
}

// clearScript opens the folders, and removes the names, that it reads, each with a letter
// before it and a zero byte after it.
const clearScript = `cd ` + Root + ` && xargs -0 sh -c 'for f; do
	n=./${f#?}
	case $f in
	o*) if [ -d "$n" ] && ! [ -L "$n" ]; then chmod u+rwx "$n" || exit 1; fi ;;
	r*)
		if [ -d "$n" ] && ! [ -L "$n" ]; then find "$n" -type d -exec chmod u+rwx {} ";"; fi
		rm -rf "$n" || exit 1
		;;
	esac
done' sh`

// clear removes names, which opens the folders that these are in, and then opens others.
func (b *box) clear(ctx context.Context, remove []string, folders []mirror.Folder) error {
	var list bytes.Buffer
	item := func(what, name string) { list.WriteString(what + name + "\x00") }
	opened := map[string]bool{".": true}
	for _, name := range remove {
		var outer []string
		for dir := path.Dir(name); !opened[dir]; dir = path.Dir(dir) {
			opened[dir] = true
			outer = append(outer, dir)
		}
		for _, dir := range slices.Backward(outer) {
			item("o", dir)
		}
	}
	for _, name := range remove {
		item("r", name)
	}
	for _, f := range folders {
		item("o", f.Name)
	}
	if list.Len() == 0 {
		return nil
	}
	return b.script(ctx, clearScript, &list)
}

// unpack puts into the volume what goes by names in a directory of this machine.
func (b *box) unpack(ctx context.Context, root *os.Root, names []string) error {
	if len(names) == 0 {
		return nil
	}
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := mirror.Pack(w, root, names)
		w.CloseWithError(err)
		packed <- err
	}()
	err := b.script(ctx, "tar -C "+Root+" -xpf -", r)
	_ = r.Close()
	if perr := <-packed; perr != nil && !errors.Is(perr, io.ErrClosedPipe) {
		return perr
	}
	if err != nil && strings.Contains(err.Error(), "tar: not found") {
		return hinted{fmt.Errorf("%w: the image has no tar", driver.ErrUnsupported), "use an image with tar, or bind a directory as the workspace"}
	}
	return err
}

// closeFolders gives folders their modes, inner ones first.
func (b *box) closeFolders(ctx context.Context, folders []mirror.Folder) error {
	if len(folders) == 0 {
		return nil
	}
	var list bytes.Buffer
	for _, f := range slices.Backward(folders) {
		fmt.Fprintf(&list, "%o\x00./%s\x00", f.Mode, f.Name)
	}
	return b.script(ctx, "cd "+Root+" && xargs -0 -n 2 chmod", &list)
}
