package local

import (
	"context"
	"os"

	"github.com/openrath-go/rath/sandbox/driver"
)

// probe tries whether a level can be enforced here.
func probe(ctx context.Context, level string) error {
	switch level {
	case driver.LevelLandlock:
		return probeLandlock()
	case driver.LevelBubblewrap:
		program, err := findWrap(here())
		if err != nil {
			return err
		}
		return probeBubblewrap(ctx, program)
	}
	return nil
}

// here is the folder that the program runs in, most likely a workspace.
func here() []string {
	if dir, err := os.Getwd(); err == nil && dir != "/" {
		return []string{dir}
	}
	return nil
}

func newCage(ctx context.Context, b *box) (cage, error) {
	if b.policy.Level == driver.LevelBubblewrap {
		return newBubblewrap(ctx, b)
	}
	if err := probeLandlock(); err != nil {
		return nil, err
	}
	return newLandlock(b)
}
