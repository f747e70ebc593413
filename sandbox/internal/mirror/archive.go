package mirror

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Limits of what is taken over from a sandbox, which may be anything.
const (
	maxArchive = 16 << 30
	maxEntries = 4 << 20
	// maxCompared is how long a file may be to be compared with what is there; a longer
	// one is written anew.
	maxCompared = 16 << 20
)

var errTooMuch = errors.New("the workspace has more in it than is taken over")

// Pack writes an archive of what goes by names in a directory. Folders come open to their
// owner, so that they can be filled; the modes that they are to have, [Folders] knows.
func Pack(w io.Writer, root *os.Root, names []string) error {
	t := tar.NewWriter(w)
	for _, name := range names {
		if err := packOne(t, root, name); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	return t.Close()
}

// Folder is a folder with its permissions.
type Folder struct {
	Name string
	Mode fs.FileMode
}

// Folders returns the folders that are among names in a directory, or on the way to them,
// outer ones first.
func Folders(root *os.Root, names []string) (all []Folder, err error) {
	seen := map[string]bool{".": true}
	for _, name := range names {
		for ; !seen[name]; name = path.Dir(name) {
			seen[name] = true
			info, err := root.Lstat(filepath.FromSlash(name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return nil, err
			}
			if err == nil && info.IsDir() {
				all = append(all, Folder{name, info.Mode().Perm()})
			}
		}
	}
	slices.SortFunc(all, func(a, b Folder) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func packOne(t *tar.Writer, root *os.Root, name string) error {
	file := filepath.FromSlash(name)
	info, err := root.Lstat(file)
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(), Format: tar.FormatPAX}
	switch info.Mode().Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
		h.Mode |= 0o700
		return t.WriteHeader(h)
	case fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = root.Readlink(file); err != nil {
			return err
		}
		return t.WriteHeader(h)
	case 0:
		h.Typeflag, h.Size = tar.TypeReg, info.Size()
		return packFile(t, root, file, h)
	}
	return nil // pipes, sockets and devices stay behind
}

func packFile(t *tar.Writer, root *os.Root, file string, h *tar.Header) error {
	f, err := root.OpenFile(file, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	if n, err := io.Copy(t, io.LimitReader(f, h.Size)); err != nil || n == h.Size {
		return err
	}
	return errors.New("it has become shorter meanwhile")
}

// unpacker makes a directory what an archive has. The archive is not trusted: nothing is
// written outside of the directory, and not without bounds.
type unpacker struct {
	root *os.Root
	seen map[string]bool
	size int64
	dirs []*tar.Header // whose modes are set last
}

// unpack makes a directory what an archive has. Files that are the same stay untouched.
func unpack(root *os.Root, archive io.Reader) error {
	u := &unpacker{root: root, seen: map[string]bool{}}
	if err := u.all(&zeros{Reader: archive}); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	if err := u.prune("."); err != nil {
		return err
	}
	for _, h := range slices.Backward(u.dirs) {
		if err := u.chmod(h.Name, h); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a name, and opens folders that are in the way of that.
func (u *unpacker) remove(name string) error {
	err := u.root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err := u.open(name); err != nil {
		return err
	}
	return u.root.RemoveAll(name)
}

// open lets all folders in a folder, and that itself, be emptied.
func (u *unpacker) open(name string) error {
	info, err := u.root.Lstat(name)
	if err != nil || !info.IsDir() {
		return err
	}
	if err := u.root.Chmod(name, 0o700); err != nil {
		return err
	}
	entries, err := u.list(name)
	for _, e := range entries {
		err = errors.Join(err, u.open(filepath.Join(name, e.Name())))
	}
	return err
}

func (u *unpacker) list(dir string) ([]fs.DirEntry, error) {
	f, err := u.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// zeros counts the zero bytes that came last: an archive ends in two blocks of them.
type zeros struct {
	io.Reader
	n int
}

func (z *zeros) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	last := len(bytes.TrimRight(p[:n], "\x00"))
	if last > 0 {
		z.n = 0
	}
	z.n += n - last
	return n, err
}

const trailer = 2 * 512

// all takes over all entries. What the package tar takes for an end may be one that the
// sender did not mean.
func (u *unpacker) all(archive *zeros) error {
	for t := tar.NewReader(archive); ; {
		if _, err := io.Copy(io.Discard, t); err != nil {
			return err
		}
		archive.n = 0
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF) && archive.n < trailer:
			return io.ErrUnexpectedEOF
		case errors.Is(err, io.EOF):
			_, err := io.Copy(io.Discard, archive)
			return err
		case err != nil:
			return err
		}
		if err := u.entry(h, t); err != nil {
			return err
		}
	}
}

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	name := path.Clean(h.Name)
	if name == "." {
		return nil
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("%q leads outside", h.Name)
	}
	if u.size += max(h.Size, 0); u.size > maxArchive || len(u.seen) >= maxEntries {
		return errTooMuch
	}
	h.Name = filepath.FromSlash(name)
	if err := u.makeParents(h.Name); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.dir(h)
	case tar.TypeReg:
		return u.file(h, content)
	case tar.TypeSymlink:
		return u.link(h)
	case tar.TypeLink:
		return u.hardLink(h)
	}
	return nil
}

// makeParents makes the folders on the way to a name, in place of whatever is there.
func (u *unpacker) makeParents(name string) error {
	dir := filepath.Dir(name)
	if dir == "." || u.seen[dir] {
		return nil
	}
	if err := u.makeParents(dir); err != nil {
		return err
	}
	return u.makeDir(dir)
}

func (u *unpacker) makeDir(name string) error {
	u.seen[name] = true
	info, err := u.root.Lstat(name)
	if err == nil && info.IsDir() {
		return u.root.Chmod(name, info.Mode().Perm()|0o700) // until all is in it
	}
	if err == nil {
		err = u.remove(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return u.root.Mkdir(name, 0o700)
}

func (u *unpacker) dir(h *tar.Header) error {
	u.dirs = append(u.dirs, h)
	return u.makeDir(h.Name)
}

func (u *unpacker) file(h *tar.Header, content io.Reader) error {
	u.seen[h.Name] = true
	info, err := u.root.Lstat(h.Name)
	if err == nil && info.Mode().IsRegular() && info.Size() == h.Size && h.Size <= maxCompared {
		data, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if old, err := u.root.ReadFile(h.Name); err == nil && bytes.Equal(old, data) {
			return u.chmod(h.Name, h)
		}
		content = bytes.NewReader(data)
	}
	if err == nil {
		err = u.remove(h.Name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := u.root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return u.chmod(h.Name, h)
}

func (u *unpacker) link(h *tar.Header) error {
	u.seen[h.Name] = true
	if old, err := u.root.Readlink(h.Name); err == nil && old == h.Linkname {
		return nil
	}
	if err := u.remove(h.Name); err != nil {
		return err
	}
	return u.root.Symlink(h.Linkname, h.Name)
}

// hardLink copies the file that the archive has had under another name: a workspace keeps
// no hard links.
func (u *unpacker) hardLink(h *tar.Header) error {
	first := filepath.FromSlash(path.Clean(h.Linkname))
	if !u.seen[first] {
		return fmt.Errorf("%q is a link to %q, which is not in the archive", h.Name, h.Linkname)
	}
	info, err := u.root.Lstat(first)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if h.Linkname, err = u.root.Readlink(first); err != nil {
			return err
		}
		return u.link(h)
	}
	f, err := u.root.OpenFile(first, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	h.Size, h.Mode = info.Size(), int64(info.Mode().Perm())
	if u.size += h.Size; u.size > maxArchive {
		return errTooMuch
	}
	return u.file(h, f)
}

func (u *unpacker) chmod(name string, h *tar.Header) error {
	mode := fs.FileMode(h.Mode).Perm()
	if h.Typeflag == tar.TypeDir {
		mode |= 0o500 // so that it can be read again
	} else {
		mode |= 0o400
	}
	info, err := u.root.Lstat(name)
	if err != nil || info.Mode().Perm() == mode {
		return err
	}
	return u.root.Chmod(name, mode)
}

// prune removes what the archive does not have.
func (u *unpacker) prune(dir string) error {
	entries, err := u.list(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case !u.seen[name]:
			err = u.remove(name)
		case e.IsDir():
			err = u.prune(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
