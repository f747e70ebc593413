package effect

import (
	"context"
	"math/rand/v2"
	"time"
)

// Now tells the time; a journal records it, so that a replay tells the same.
func Now(ctx context.Context) (time.Time, error) {
	return Do(ctx, Call{Kind: "clock", Name: "now", Class: ReadOnly, Instant: true}, func(context.Context) (time.Time, error) {
		return time.Now().Round(0), nil
	})
}

// Uint64 draws a random number; a journal records it, so that a replay draws the same.
// It is not for secrets.
func Uint64(ctx context.Context) (uint64, error) {
	return Do(ctx, Call{Kind: "random", Name: "uint64", Class: ReadOnly, Instant: true}, func(context.Context) (uint64, error) {
		return rand.Uint64(), nil
	})
}
