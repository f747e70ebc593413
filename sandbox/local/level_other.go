//go:build !linux

package local

import (
	"context"
	"runtime"

	"github.com/openrath-go/rath/sandbox/driver"
)

// probe knows the host only: what the other levels are made of is Linux's.
func probe(_ context.Context, level string) error {
	if level == driver.LevelHost {
		return nil
	}
	return &driver.PolicyError{
		Level:  level,
		Reason: "it is made of what only Linux has, and this is " + runtime.GOOS,
		Remedy: "run on Linux, in a virtual machine or container, or choose level " + driver.LevelHost,
	}
}

func newCage(ctx context.Context, b *box) (cage, error) { return nil, probe(ctx, b.policy.Level) }

// keepFiles keeps nothing here: what the program has inherited open, commands do too.
func keepFiles() {}

// counter counts nothing here: the shell's limit on processes is all there is.
type counter struct{}

func (*box) count() error       { return nil }
func (*counter) join(int) error { return nil }
func (*counter) close()         {}
