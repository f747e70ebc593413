package workspace

import (
	"fmt"
	"os"
	"strings"
)

// descent opens directories below a root, and keeps those open that lead to the last one:
// work in order of paths opens each once.
type descent struct {
	root    *os.Root
	entered func(dir *os.Root, name, p string) error // called before a directory is opened
	path    []string
	open    []*os.Root
}

// parent returns the directory that a path is in, and its name there.
func (d *descent) parent(p string) (*os.Root, string, error) {
	parts := strings.Split(p, "/")
	last := len(parts) - 1
	d.keep(parts[:last])
	dir := d.root
	if n := len(d.open); n > 0 {
		dir = d.open[n-1]
	}
	for _, name := range parts[len(d.open):last] {
		sub, err := d.enter(dir, name)
		if err != nil {
			return nil, "", fmt.Errorf("enter %q: %w", strings.Join(append(d.path, name), "/"), err)
		}
		d.path, d.open = append(d.path, name), append(d.open, sub)
		dir = sub
	}
	return dir, parts[last], nil
}

func (d *descent) enter(dir *os.Root, name string) (*os.Root, error) {
	if d.entered != nil {
		if err := d.entered(dir, name, strings.Join(append(d.path, name), "/")); err != nil {
			return nil, bare(err)
		}
	}
	return openDir(dir, name)
}

// keep closes what does not lead to a directory.
func (d *descent) keep(parts []string) {
	n := 0
	for n < len(d.open) && n < len(parts) && d.path[n] == parts[n] {
		n++
	}
	for _, r := range d.open[n:] {
		r.Close()
	}
	d.path, d.open = d.path[:n], d.open[:n]
}

// leave closes a directory, if it is open.
func (d *descent) leave(p string) { d.keep(strings.Split(parent(p), "/")) }

func (d *descent) close() { d.keep(nil) }
