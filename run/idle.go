package run

import (
	"context"
	"sync"
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
	mu    sync.Mutex   // of each work's fields
}

func (i *idleness) moved() { i.moves.Add(1) }

// work is an effect under way that counts as work, unless it only waits for an answer to
// a question that is asked within it.
type work struct {
	waits int // questions; guarded by idleness.mu
	over  bool
}

// enter counts an effect that begins; nil if its kind is waiting.
func (i *idleness) enter(kind string) *work {
	i.moved()
	if kind == kindApproval || kind == kindInterrupt {
		return nil
	}
	i.busy.Add(1)
	return &work{}
}

func (i *idleness) leave(w *work) {
	i.moved()
	if w == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if w.over = true; w.waits == 0 {
		i.busy.Add(-1)
	}
}

// rest takes effects for waiting until the question that is asked within them is through.
func (i *idleness) rest(effects []*work) (through func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, w := range effects {
		if w.waits++; w.waits == 1 && !w.over {
			i.busy.Add(-1)
		}
	}
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		for _, w := range effects {
			if w.waits--; w.waits == 0 && !w.over {
				i.busy.Add(1)
			}
		}
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
