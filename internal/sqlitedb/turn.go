package sqlitedb

import "sync/atomic"

// Turn is that of something which waits to be done, by a goroutine that writes, for
// somebody who may stop waiting. The zero Turn waits.
type Turn struct{ state atomic.Int32 }

const (
	waiting int32 = iota
	begun
	withdrawn
)

// Begin takes it up, for the first time or again, unless it was withdrawn.
func (t *Turn) Begin() bool {
	return t.state.CompareAndSwap(waiting, begun) || t.state.Load() == begun
}

// Withdraw reports whether it will never be done.
func (t *Turn) Withdraw() bool { return t.state.CompareAndSwap(waiting, withdrawn) }
