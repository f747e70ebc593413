package local

import (
	"context"

	"github.com/openrath-go/rath/sandbox/driver"
)

// probe tries whether a level can be enforced here.
func probe(ctx context.Context, level string) error {
	switch level {
	case driver.LevelLandlock:
		return probeLandlock()
	case driver.LevelBubblewrap:
		return probeBubblewrap(ctx)
	}
	return nil
}

func newCage(ctx context.Context, b *box) (cage, error) {
	if err := probe(ctx, b.policy.Level); err != nil {
		return nil, err
	}
	if b.policy.Level == driver.LevelLandlock {
		return newLandlock(b)
	}
	return newBubblewrap(b)
}
