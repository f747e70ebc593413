package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openrath-go/rath/sandbox/driver"
)

// place is a path that a policy names.
type place struct {
	name string // absolute, as it was given
	real string // without symbolic links
}

// resolvePaths looks up the paths of a policy, relative ones in the workspace.
func (b *box) resolvePaths() error {
	for _, list := range []struct {
		names []string
		to    *[]place
	}{{b.policy.ReadOnly, &b.readOnly}, {b.policy.Writable, &b.writable}} {
		for _, name := range list.names {
			if !filepath.IsAbs(name) {
				name = filepath.Join(b.dir, name)
			}
			name = filepath.Clean(name)
			real, err := filepath.EvalSymlinks(name)
			if err != nil {
				return fmt.Errorf("path %s of the policy: %w", name, plain(err))
			}
			*list.to = append(*list.to, place{name, real})
		}
	}
	b.writable = append(b.writable, place{b.named, b.dir})
	return nil
}

// reachable reports whether a name is in, or has in it, a path of the lists.
func (b *box) reachable(name string, lists ...[]place) bool {
	for _, p := range slices.Concat(lists...) {
		if within(name, p.real) || within(p.real, name) {
			return true
		}
	}
	return false
}

// covered reports whether a path of the policy is inside something hidden. The workspace
// is not, wherever it lies: it is what the sandbox is for.
func (b *box) covered(p place) bool {
	return slices.ContainsFunc(b.hidden, func(name string) bool {
		name = target(name)
		return within(p.real, name) && !(within(b.dir, name) && within(p.real, b.dir))
	})
}

// refuseHidden refuses what cannot be hidden because of the system's programs and settings.
func (b *box) refuseHidden(refusal *driver.PolicyError, clash func(name, system string) bool) error {
	for _, name := range b.hidden {
		for _, system := range systemPaths() {
			real, err := filepath.EvalSymlinks(system)
			if err != nil {
				continue
			}
			for _, hidden := range []string{target(name), landing(name)} {
				if clash(hidden, real) || clash(hidden, system) {
					refusal.Missing, refusal.Reason = "that "+name+" is hidden", "commands need "+system
					refusal.Remedy = "keep what is hidden elsewhere"
					return refusal
				}
			}
		}
	}
	return nil
}

// within reports whether a name is a folder or below it. Both are absolute and clean.
func within(name, dir string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// changeable refuses a canonical name that the policy makes read-only: the innermost path
// that it names counts.
func (b *box) changeable(name string) error {
	name = filepath.Join(b.dir, filepath.FromSlash(name))
	longest := func(places []place) (n int) {
		for _, p := range places {
			if within(name, p.real) {
				n = max(n, len(p.real))
			}
		}
		return n
	}
	if n := longest(b.readOnly); n > 0 && n >= longest(b.writable) {
		return fmt.Errorf("the policy makes it read-only: %w", fs.ErrPermission)
	}
	return nil
}

// disposable refuses a canonical name that is in a read-only folder or has something
// read-only in it.
func (b *box) disposable(name string) error {
	for _, p := range b.readOnly {
		if within(p.real, filepath.Join(b.dir, filepath.FromSlash(name))) {
			return fmt.Errorf("the policy makes a part of it read-only: %w", fs.ErrPermission)
		}
	}
	return errors.Join(b.changeable(path.Dir(name)), b.changeable(name))
}

// landing is where a name is, links on the way to it resolved.
func landing(name string) string {
	return filepath.Join(resolved(filepath.Dir(name)), filepath.Base(name))
}

// target is the file that a name leads to, as far as it exists.
func target(name string) string { return resolved(name) }

// systemPaths are what programs need to run: the system's programs and libraries, and of
// its settings those that hold no secrets.
func systemPaths() []string {
	paths := []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}
	for name := range strings.FieldsSeq(`
		alternatives bash.bashrc ca-certificates crypto-policies debian_version fonts gai.conf group host.conf
		hosts inputrc ld.so.cache ld.so.conf ld.so.conf.d locale.alias locale.conf localtime lsb-release magic
		mime.types nsswitch.conf os-release passwd pki/ca-trust/extracted pki/tls/certs pki/tls/openssl.cnf
		profile protocols resolv.conf services ssl/certs ssl/openssl.cnf terminfo timezone`) {
		paths = append(paths, "/etc/"+name)
	}
	return paths
}

// findProgram looks for a program where commands would find it.
func (b *box) findProgram(name string) (string, error) {
	missing := fmt.Errorf("%w: there is no program %q here", driver.ErrUnsupported, name)
	if b.policy.Level == driver.LevelHost {
		file, err := exec.LookPath(name)
		if err != nil {
			return "", missing
		}
		return file, nil
	}
	list, _ := b.getenv("PATH")
	for _, dir := range filepath.SplitList(list) {
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && b.offers(file) {
			return file, nil
		}
	}
	return "", missing
}

// offers reports whether commands can reach a program.
func (b *box) offers(file string) bool {
	real := target(file)
	for _, dir := range systemPaths() {
		if within(file, dir) && within(real, target(dir)) || within(real, dir) && within(file, dir) {
			return true
		}
	}
	for _, p := range slices.Concat(b.readOnly, b.writable) {
		if within(real, p.real) {
			return true
		}
	}
	return false
}
