package opensandbox

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox/internal/mirror"
	"github.com/openrath-go/rath/sandbox/internal/shell"
)

// Fetch makes it a [mirror.Remote].
func (b *box) Fetch(ctx context.Context) (io.ReadCloser, error) {
	if !b.has("tar") {
		return b.gather(ctx), nil
	}
	file := temporary + uuid.NewString() + ".tar"
	remove := func() { _ = b.execd.Remove(context.WithoutCancel(ctx), file) }
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	_, err := b.longScript(ctx, packScript, b.root, file)
	var body io.ReadCloser
	if err == nil {
		body, err = b.execd.Download(ctx, file, 0, -1)
	}
	if err != nil {
		cancel()
		remove()
		return nil, fmt.Errorf("pack the workspace: %w", err)
	}
	return &closer{body, func() error {
		defer cancel()
		defer remove()
		return body.Close()
	}}, nil
}

// packScript makes an archive. That a file changes while it is read is no failure: GNU tar
// says so by 1.
const packScript = `umask 077; tar -C "$1" -cf "$2" . 2>"$2.err"; code=$?
if [ $code = 1 ] && ! grep -qv -e 'file changed as we read it' -e 'File removed before we read it' -e 'socket ignored' "$2.err"; then code=0; fi
[ $code = 0 ] || cat "$2.err" >&2; rm -f "$2.err"; exit $code`

type closer struct {
	io.Reader
	close func() error
}

func (c *closer) Close() error { return c.close() }

// gather makes an archive on this side, file by file.
func (b *box) gather(ctx context.Context) io.ReadCloser {
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := tar.NewWriter(w)
		err := b.gatherAll(ctx, t)
		w.CloseWithError(errors.Join(err, t.Close()))
	}()
	return &closer{r, func() error {
		cancel()
		defer func() { <-done }()
		return r.Close()
	}}
}

// anyDepth lists all that is below a folder.
const anyDepth = 1 << 20

func (b *box) gatherAll(ctx context.Context, t *tar.Writer) error {
	found, err := b.execd.List(ctx, b.root, anyDepth)
	if err != nil {
		return err
	}
	for _, info := range found {
		name, ok := below(info.Path, b.root)
		if !ok {
			return fmt.Errorf("the daemon lists %s", info.Path)
		}
		h := &tar.Header{Name: name, Mode: int64(info.Mode), ModTime: info.Modified, Format: tar.FormatPAX}
		if err := b.gatherOne(ctx, t, h, info); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (b *box) gatherOne(ctx context.Context, t *tar.Writer, h *tar.Header, info FileInfo) error {
	switch info.Type {
	case "directory":
		h.Typeflag = tar.TypeDir
		return t.WriteHeader(h)
	case "symlink":
		target, err := b.script(ctx, `readlink "$1"`, info.Path)
		if err != nil {
			return err
		}
		h.Typeflag, h.Linkname = tar.TypeSymlink, strings.Join(target, "\n")
		return t.WriteHeader(h)
	case "file":
	default:
		return nil
	}
	body, err := b.execd.Download(ctx, info.Path, 0, -1)
	if err != nil {
		return err
	}
	defer body.Close()
	data, err := io.ReadAll(body) // it may have changed in size
	if err != nil {
		return err
	}
	h.Typeflag, h.Size = tar.TypeReg, int64(len(data))
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = t.Write(data)
	return err
}

// Deliver makes it a [mirror.Remote]. Everything is there before anything is changed.
func (b *box) Deliver(ctx context.Context, root *os.Root, remove, put []string) error {
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	defer cancel()
	folders, err := mirror.Folders(root, slices.Concat(remove, put))
	if err != nil {
		return err
	}
	if !b.has("tar") {
		return b.scatter(ctx, root, remove, put, folders)
	}
	file := temporary + uuid.NewString()
	defer func() { _ = b.execd.Remove(context.WithoutCancel(ctx), file+".tar", file+".sh") }()
	if err := b.uploadArchive(ctx, file+".tar", root, put); err != nil {
		return err
	}
	return b.change(ctx, file+".sh", opening(folders)+removal(remove)+"tar -xpof "+shell.Quote(file+".tar")+" || exit\n"+closing(folders))
}

// change runs a script of any length in the workspace.
func (b *box) change(ctx context.Context, file, script string) error {
	if err := b.execd.Upload(ctx, file, 0o600, strings.NewReader(script)); err != nil {
		return err
	}
	_, err := b.longScript(ctx, `cd "$1" && sh "$2"`, b.root, file)
	return err
}

func (b *box) uploadArchive(ctx context.Context, file string, root *os.Root, names []string) error {
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := mirror.Pack(w, root, names)
		w.CloseWithError(err)
		packed <- err
	}()
	err := b.execd.Upload(ctx, file, 0o600, r)
	_ = r.CloseWithError(context.Canceled)
	if e := <-packed; e != nil && !errors.Is(e, context.Canceled) {
		return e
	}
	return err
}

// removal is a script that removes names, a folder only if nothing is left in it.
func removal(names []string) string {
	var s strings.Builder
	for _, name := range names {
		q := shell.Quote("./" + name)
		fmt.Fprintf(&s, "if [ -d %[1]s ] && [ ! -L %[1]s ]; then rmdir %[1]s 2>/dev/null; else rm -f %[1]s; fi || true\n", q)
	}
	return s.String()
}

// opening is a script that lets folders be changed, if they are there.
func opening(folders []mirror.Folder) string {
	var s strings.Builder
	for _, f := range folders {
		q := shell.Quote("./" + f.Name)
		fmt.Fprintf(&s, "[ ! -d %[1]s ] || [ -L %[1]s ] || chmod u+rwx %[1]s\n", q)
	}
	return s.String()
}

// closing is a script that gives folders the modes that they are to have, inner ones
// first.
func closing(folders []mirror.Folder) string {
	var s strings.Builder
	for _, f := range slices.Backward(folders) {
		fmt.Fprintf(&s, "chmod %o %s || exit\n", f.Mode.Perm(), shell.Quote("./"+f.Name))
	}
	return s.String()
}

// scatter does what Deliver does, file by file.
func (b *box) scatter(ctx context.Context, root *os.Root, remove, put []string, folders []mirror.Folder) error {
	file := temporary + uuid.NewString() + ".sh"
	defer func() { _ = b.execd.Remove(context.WithoutCancel(ctx), file) }()
	if err := b.change(ctx, file, opening(folders)+removal(remove)); err != nil {
		return err
	}
	for _, name := range put {
		if err := b.scatterOne(ctx, root, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return b.change(ctx, file, closing(folders))
}

func (b *box) scatterOne(ctx context.Context, root *os.Root, name string) error {
	to := path.Join(b.root, name)
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		_, err = b.script(ctx, `{ [ -d "$1" ] && [ ! -L "$1" ]; } || { rm -f "$1"; mkdir -p "$1"; }`, to)
	case fs.ModeSymlink:
		var target string
		if target, err = root.Readlink(name); err == nil {
			_, err = b.script(ctx, `mkdir -p "${1%/*}" && rm -f "$1" && ln -s "$2" "$1"`, to, target)
		}
	case 0:
		if _, err = b.script(ctx, `rm -f "$1"`, to); err == nil { // the daemon would follow a link
			err = b.scatterFile(ctx, root, name, to, info.Mode())
		}
	}
	return err
}

func (b *box) scatterFile(ctx context.Context, root *os.Root, name, to string, mode fs.FileMode) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return b.execd.Upload(ctx, to, mode, f)
}

// uploadDir copies the directory into the workspace.
func (b *box) uploadDir(ctx context.Context) error {
	root, err := os.OpenRoot(b.opts.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	names, err := walk(root, b.opts.Exclude)
	if err == nil {
		err = b.Deliver(ctx, root, nil, names)
	}
	if err != nil {
		return fmt.Errorf("upload %s: %w", b.opts.Dir, err)
	}
	return nil
}

// walk returns the names of all that is in a directory, but what is excluded.
func walk(root *os.Root, exclude []string) (names []string, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(exclude, func(x string) bool { return path.Clean(filepath.ToSlash(x)) == name }):
			if d.IsDir() {
				return fs.SkipDir
			}
		case name != ".":
			names = append(names, name)
		}
		return nil
	})
	return names, err
}
