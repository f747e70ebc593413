package local

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is something that commands find at a name.
type mount struct {
	flag     string // of bwrap
	from, to string
}

const (
	bind         = "--bind"
	bindReadOnly = "--ro-bind"
	linked       = "--symlink"
	empty        = "--tmpfs" // nothing is in it but what is mounted there
	pin          = "--bind-fd"
)

func (m mount) args() []string {
	if m.flag == empty {
		return []string{m.flag, m.to}
	}
	return []string{m.flag, m.from, m.to}
}

// systemMounts are the system's programs.
func systemMounts() (list []mount) {
	for _, name := range systemPaths() {
		real, err := filepath.EvalSymlinks(name)
		if err != nil || within(name, "/etc") {
			continue
		}
		if link, err := os.Readlink(name); err == nil && filepath.Dir(name) == "/" {
			list = append(list, mount{linked, link, name})
		} else {
			list = append(list, mount{bindReadOnly, real, name})
		}
	}
	return list
}

// layout is all that commands find, what is further out first: so each covers what it is
// in, whether that is visible, hidden or read-only.
func (w *bubblewrap) layout() []mount {
	list := slices.Clone(w.always)
	add := func(flag string, places []place) {
		for _, p := range places {
			if w.box.covered(p) {
				continue
			}
			for _, name := range w.box.shown(p) {
				list = slices.DeleteFunc(list, func(m mount) bool { return m.to == name })
				list = append(list, mount{flag, p.real, name})
			}
		}
	}
	add(bind, w.box.writable)
	add(bindReadOnly, w.box.readOnly)
	list, links := w.mask(list)
	list = w.again(list, bindReadOnly, w.box.readOnly)
	list = w.again(list, bind, w.box.writable)
	list = append(list, w.pins(list, links)...)
	slices.SortStableFunc(list, func(a, b mount) int { return cmp.Compare(depth(a.to), depth(b.to)) })
	return list
}

// again adds paths of the policy where commands find them inside others too, by a name
// that leads through a link.
func (w *bubblewrap) again(list []mount, flag string, places []place) []mount {
	for _, p := range places {
		if w.box.covered(p) {
			continue
		}
		for _, view := range views(list, p.real) {
			if innermost(list, view).from != p.real {
				list = append(list, mount{flag, p.real, view})
			}
		}
	}
	return list
}

func depth(name string) int {
	if name == "/" {
		return 0
	}
	return strings.Count(name, "/")
}

// mask adds what covers hidden files wherever commands would find them, and returns where
// they would find links to these, or what is not there yet.
func (w *bubblewrap) mask(list []mount) (masked []mount, names []string) {
	hidden := slices.Clone(w.box.hidden)
	slices.SortStableFunc(hidden, func(a, b string) int { return cmp.Compare(depth(target(a)), depth(target(b))) })
	for _, name := range hidden {
		file := target(name)
		names = append(names, views(list, landing(name))...)
		info, err := os.Stat(file)
		for _, view := range views(list, file) {
			switch {
			case err != nil:
				names = append(names, view)
			case info.IsDir():
				list = append(list, mount{empty, "", view})
			default:
				list = append(list, mount{bindReadOnly, os.DevNull, view})
			}
		}
	}
	return list, names
}

// views are all the names under which commands would find a file: a folder that goes by
// two is mounted twice, and what covers a file in one mount does not cover it in the other.
func views(list []mount, name string) (views []string) {
	for _, m := range list {
		if m.flag == linked || !within(name, m.from) {
			continue
		}
		rel, _ := filepath.Rel(m.from, name) // both are absolute
		view := filepath.Join(m.to, rel)
		if innermost(list, view) == m {
			views = append(views, view)
		}
	}
	return views
}

// innermost is the mount that a name is in.
func innermost(list []mount, name string) (in mount) {
	for _, m := range list {
		if within(name, m.to) && depth(m.to) >= depth(in.to) {
			in = m
		}
	}
	return in
}

// pins are the folders that lead from what commands may write to what is mounted in it.
// Each is mounted on itself, for what is mounted cannot be moved: a command could otherwise
// give a folder another name, and the next one would find the files under that.
func (w *bubblewrap) pins(list []mount, names []string) (pins []mount) {
	for _, m := range list {
		names = append(names, m.to)
	}
	for _, name := range names {
		in := innermost(list, filepath.Dir(name))
		if in.flag != bind || within(in.from, w.scratch.dir) {
			continue
		}
		for dir := filepath.Dir(name); dir != in.to; dir = filepath.Dir(dir) {
			rel, _ := filepath.Rel(in.to, dir) // both are absolute
			p := mount{pin, filepath.Join(in.from, rel), dir}
			if !slices.Contains(pins, p) {
				pins = append(pins, p)
			}
		}
	}
	return pins
}

// mountArgs has bwrap make mounts. It gets the folders that are pinned open, for a name
// could lead elsewhere by then. They are to be closed, also after an error.
func mountArgs(list []mount) (args []string, pins []*os.File, err error) {
	var seal []string
	for _, m := range list {
		switch m.flag {
		case empty:
			seal = append(seal, "--remount-ro", m.to)
		case pin:
			f, err := openStraight(m.from)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
				continue // so there is nothing in it
			}
			if err == nil && len(pins) == maxPins {
				_, err = f.Close(), errors.New("there are too many folders to keep in place")
			}
			if err != nil {
				return nil, pins, fmt.Errorf("keep %s in place: %w", m.to, plain(err))
			}
			m.from = strconv.Itoa(wrapPinFD + len(pins))
			pins = append(pins, f)
		}
		args = append(args, m.args()...)
	}
	return append(args, seal...), pins, nil
}

// openStraight opens a folder whose name leads through no links.
func openStraight(name string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}
