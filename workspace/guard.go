package workspace

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// guard keeps what others do in a directory while it is changed: nothing is replaced or
// removed that is not as it was seen.
type guard struct {
	found map[string]cached // what was seen
	since time.Time         // when looking began
	now   tree              // what the change is made from
	done  map[string]step   // what has been changed
	lax   bool              // take what has been edited in its place as seen
}

// note keeps what was done to a path.
func (g *guard) note(p string, is entry) {
	if g != nil {
		g.done[p] = step{g.now[p], is}
	}
}

// asSeen fails with errChanged where a file or link is not what was seen at its path.
func (g *guard) asSeen(dir *os.Root, name, p string) error {
	if g == nil {
		return nil
	}
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	if err != nil {
		return err
	}
	seen, st := g.found[p], statOf(info)
	if g.lax && st.inode == seen.inode && !info.IsDir() || st == seen.stat && !seen.racy(g.since) {
		return nil
	}
	return g.sameContent(dir, name, seen.entry)
}

// asMoved is asSeen for what had the stat st and has another name since.
func (g *guard) asMoved(dir *os.Root, name, p string, st stat) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	now := statOf(info)
	now.ctime = st.ctime // the time of the move
	if g.lax && now.inode == st.inode || now == st && !st.racy(g.since) {
		return nil
	}
	return g.sameContent(dir, name, g.found[p].entry)
}

// sameContent reads a file or link, where its stat does not tell.
func (g *guard) sameContent(dir *os.Root, name string, want entry) error {
	e, err := readEntry(dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && e != want:
		return errChanged
	}
	return err
}

// readEntry finds out what a file or link is without keeping it.
func readEntry(dir *os.Root, name string) (e entry, err error) {
	h := sha256.New()
	defer func() { e.id = oid(h.Sum(nil)) }()
	if target, err := dir.Readlink(name); err == nil {
		fmt.Fprintf(h, "blob %d\x00%s", len(target), target)
		return entry{mode: typeLink}, nil
	}
	f, info, err := openFile(dir, name)
	if err != nil {
		return e, err
	}
	defer f.Close()
	fmt.Fprintf(h, "blob %d\x00", info.Size())
	_, err = io.Copy(h, f)
	return entry{mode: modeOf(info, typeFile, plainFile)}, err
}

// occupy gives what is at temp a name that nothing has.
func (g *guard) occupy(dir *os.Root, temp, name string) error {
	defer func() { _ = dir.Remove(temp) }()
	err := dir.Link(temp, name)
	if err == nil {
		return nil
	}
	info, serr := dir.Lstat(name)
	switch {
	case errors.Is(serr, fs.ErrNotExist): // there are no links here
		return dir.Rename(temp, name)
	case serr != nil:
		return serr
	case !g.lax:
		return ErrBlocked
	case statOf(info).racy(g.since):
		return errChanged // it was not there when this looked
	}
	return dir.Rename(temp, name)
}

// replace puts what is at temp in the place of a file, and looks at that once more when
// nobody can reach it by its name.
func (g *guard) replace(dir *os.Root, temp, name, p string) error {
	defer func() { _ = dir.Remove(temp) }()
	before, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	if err != nil {
		return err
	}
	if err := g.asSeen(dir, name, p); err != nil {
		return err
	}
	ours, err := dir.Lstat(temp)
	if err != nil {
		return err
	}
	err = swap(dir, temp, name)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return dir.Rename(temp, name)
	case errors.Is(err, fs.ErrNotExist):
		return errChanged
	case err != nil:
		return err
	}
	if err := g.asMoved(dir, temp, p, statOf(before)); err != nil {
		return errors.Join(err, g.swapBack(dir, temp, name, ours))
	}
	return nil
}

// swapBack undoes a swap. What has come into the place meanwhile is kept beside it.
func (g *guard) swapBack(dir *os.Root, temp, name string, ours fs.FileInfo) error {
	if err := swap(dir, temp, name); err != nil {
		return rescue(dir, temp, name)
	}
	has, err := dir.Lstat(temp)
	if err != nil {
		return err
	}
	was, is := statOf(ours), statOf(has)
	if is.ctime = was.ctime; is != was {
		return rescue(dir, temp, name)
	}
	return nil
}

// discard removes a file or link, and looks at it once more when nobody can reach it by
// its name.
func (g *guard) discard(dir *os.Root, name, p string) error {
	before, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	if err := g.asSeen(dir, name, p); err != nil {
		return err
	}
	temp := tempPrefix + rand.Text()
	if err := dir.Rename(name, temp); err != nil {
		return err
	}
	if err := g.asMoved(dir, temp, p, statOf(before)); err != nil {
		if dir.Link(temp, name) != nil { // it is taken again
			return errors.Join(err, rescue(dir, temp, name))
		}
		return errors.Join(err, dir.Remove(temp))
	}
	return dir.Remove(temp)
}

// rescue gives what would be lost a name that can be found.
func rescue(dir *os.Root, temp, name string) error {
	return dir.Rename(temp, name+"~"+rand.Text()[:8])
}
