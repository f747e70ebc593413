package local

import (
	"os/exec"

	"github.com/openrath-go/rath/sandbox/driver"
)

const (
	nonblock = 0
	canLimit = false
)

// own leaves the default: the process itself is killed, its children are not.
func own(*exec.Cmd) {}

func (g *group) alive() bool { return false }

func (g *group) kill() {}

func (b *box) argv(c driver.Command) []string {
	if c.Shell != "" {
		return []string{"cmd", "/c", c.Shell}
	}
	return c.Args
}
