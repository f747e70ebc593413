package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openrath-go/rath/sandbox/driver"
)

// outerEnviron is that of programs which run outside for a command: its own variables must
// not act on them.
var outerEnviron = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}

// marks are the variables among others by which a command's processes are found.
func marks(variables []string) []string {
	return slices.DeleteFunc(slices.Clone(variables), func(v string) bool {
		return !strings.HasPrefix(v, markSandbox+"=") && !strings.HasPrefix(v, markCommand+"=")
	})
}

// changed are the folders in which programs may be a command's work.
func (b *box) changed() []string {
	names := slices.Clone(b.alias)
	for _, p := range b.writable {
		names = append(names, p.name, p.real)
	}
	return names
}

// findWrap looks for bwrap where commands could not have put it. A folder that is named
// relative to wherever the program is run in cannot be trusted at all.
func findWrap(changed []string) (string, error) {
	refusal := &driver.PolicyError{
		Level: driver.LevelBubblewrap, Reason: "there is no program bwrap here",
		Remedy: "install bubblewrap: apt-get install bubblewrap, dnf install bubblewrap, apk add bubblewrap",
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		name := filepath.Join(dir, "bwrap")
		info, err := os.Stat(name)
		if !filepath.IsAbs(name) || err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		if !isIn(changed, name, landing(name), target(name)) {
			return target(name), nil
		}
		refusal.Reason = fmt.Sprintf("commands may change the program %s", name)
		refusal.Remedy = "install bubblewrap in a folder of the system, outside of the workspace"
	}
	return "", refusal
}

func isIn(dirs []string, names ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return within(name, dir) })
	})
}
