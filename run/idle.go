package run

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	kindApproval  = "approval"
	kindInterrupt = "interrupt"
)

// idleness tells when a run does nothing any more but wait.
type idleness struct {
	busy  atomic.Int64 // effects under way that are no waiting
	moves atomic.Int64 // what happened so far
}

func (i *idleness) moved() { i.moves.Add(1) }

// enter counts an effect that begins, and reports whether it counts as work.
func (i *idleness) enter(kind string) bool {
	i.moved()
	if kind == kindApproval || kind == kindInterrupt {
		return false
	}
	i.busy.Add(1)
	return true
}

func (i *idleness) leave(busy bool) {
	i.moved()
	if busy {
		i.busy.Add(-1)
	}
}

// How long nothing must happen before a run counts as idle. The program's own code may
// be at work meanwhile: then it is stopped too early, which costs a resume and no more.
const (
	quiet     = 100 * time.Millisecond
	quietTick = 20 * time.Millisecond
)

// wait returns nil once nothing has happened for a while and nothing is under way, or
// ctx's error.
func (i *idleness) wait(ctx context.Context) error {
	tick := time.NewTicker(quietTick)
	defer tick.Stop()
	last, since := i.moves.Load(), time.Duration(0)
	for since < quiet {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if now := i.moves.Load(); now != last || i.busy.Load() > 0 {
			last, since = now, 0
		} else {
			since += quietTick
		}
	}
	return nil
}
