package local

import (
	"time"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/driver"
)

// Options say how a memory is opened. The zero Options are good.
type Options struct {
	// Embedder makes vectors, by which notes are found for what they mean; nil: they are
	// found by their words.
	Embedder driver.Embedder
	// Stem has words found by others of their stem: English ones only.
	Stem bool

	Memory *memory.Options // of the portable store

	// Lease is how long a job is held without being renewed; 0: 1 minute. Who works on one
	// is told, and renews it in time; what is shorter than a few seconds leaves a busy
	// machine no time to.
	Lease time.Duration
	Now   func() time.Time // the clock of notes and jobs; nil: time.Now
}

const defaultLease = time.Minute
