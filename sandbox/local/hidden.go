package local

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/openrath-go/rath/sandbox/driver"
)

// secret is a name that leads to something hidden.
type secret struct {
	name string      // empty: it is outside the workspace
	info fs.FileInfo // nil: there is no such file now
}

// secrets looks up what is hidden anew: files come and go, and links change. One that is
// not there yet is known by the folder that it would be in.
func (b *box) secrets() []secret {
	var all []secret
	for _, hidden := range b.hidden {
		info, _ := os.Stat(hidden)
		hidden = filepath.Join(resolved(filepath.Dir(hidden)), filepath.Base(hidden))
		link, _ := b.link(hidden)
		file, _ := b.Canonical(hidden)
		all = append(all, secret{link, info}, secret{file, info})
	}
	return all
}

// resolved follows the symbolic links of an absolute name, as far as it exists.
func resolved(name string) string {
	for dir, rest := name, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if at, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(at, rest)
		}
		if dir == filepath.Dir(dir) {
			return name
		}
	}
}

// isSecret compares files and not only names: a hard link, or another spelling where
// that is the same, leads to a secret too.
func isSecret(secrets []secret, name string, info fs.FileInfo) bool {
	for _, s := range secrets {
		if strings.EqualFold(name, s.name) || s.info != nil && info != nil && os.SameFile(info, s.info) {
			return true
		}
	}
	return false
}

// visible refuses a canonical name that is hidden, or is below something hidden.
func (b *box) visible(name string) error {
	if len(b.hidden) == 0 {
		return nil
	}
	secrets := b.secrets()
	for at := name; at != "."; at = path.Dir(at) {
		info, _ := b.root.Lstat(filepath.FromSlash(at))
		if isSecret(secrets, at, info) {
			return driver.ErrHidden
		}
	}
	return nil
}

// removable refuses a name that is hidden, or has something hidden in it.
func (b *box) removable(name string) error {
	for _, s := range b.secrets() {
		if len(s.name) > len(name) && strings.EqualFold(s.name[:len(name)+1], name+"/") {
			return driver.ErrHidden
		}
	}
	return b.visible(name)
}
