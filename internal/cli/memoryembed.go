package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/openrath-go/rath/memory"
)

const (
	embedLook    = 20 * time.Millisecond  // between two looks
	embedWait    = 3 * time.Second        // without a new vector, until nobody waits any longer
	embedPerNote = 200 * time.Millisecond // more of it, for each note of a batch
	embedBatch   = 64
)

// embed waits until the notes that were kept have their vectors, which are made in the
// background. A provider that does not answer is not waited for: the notes are found by
// their words, and the next command that keeps something tries again.
func (a *app) embed(ctx context.Context, s *memory.Store, m memoryChoice) error {
	if m.scheme != "local" || m.embedding == "" {
		return nil
	}
	begun, last := time.Now(), 0
	p := a.progress("make vectors", 0)
	defer p.stop()
	for {
		stats, err := s.Stats(ctx)
		if err != nil {
			return memoryHint(err)
		}
		missing := notesOf(stats) - stats.Vectors
		if missing <= 0 {
			return nil
		}
		if stats.Vectors != last {
			begun, last = time.Now(), stats.Vectors
		}
		p.done.Store(int64(stats.Vectors))
		if time.Since(begun) > embedWait+time.Duration(min(missing, embedBatch))*embedPerNote || sleep(ctx, embedLook) != nil {
			p.stop()
			fmt.Fprintf(a.err, "memory: %s still without a vector: they are found by their words, and rath memory commit tries again\n", plural(missing, "note"))
			return nil
		}
	}
}

func notesOf(s memory.Stats) (n int) {
	for _, in := range s.Notes {
		n += in
	}
	return n
}
