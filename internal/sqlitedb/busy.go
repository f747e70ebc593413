package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// ErrLocked says that another process had the file locked until nobody waited any more.
var ErrLocked = errors.New("another process has it locked")

// UntilFree tries until no other process is in the way, or ctx ends.
func UntilFree(ctx context.Context, try func() error) error {
	for n := 0; ; n++ {
		err := try()
		if !Busy(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrLocked, context.Cause(ctx))
		case <-time.After(delay(n)):
		}
	}
}

// delay is short at first and never long: who has the lock keeps it for milliseconds.
func delay(n int) time.Duration {
	d := min(50*time.Microsecond<<min(n, 10), time.Millisecond)
	return d/2 + rand.N(d)
}
