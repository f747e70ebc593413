package cli

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// progress is a line on stderr that says how far something has come. It comes after a
// second, on a terminal only.
type progress struct {
	done  atomic.Int64
	total atomic.Int64 // if it is known only meanwhile
	stop  func()
}

const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

// progress begins. A total of 0 is not known. End it with stop.
func (a *app) progress(what string, total int) *progress {
	p := &progress{stop: func() {}}
	if !a.terminal.err || a.asJSON {
		return p
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		p.show(a, what, total, end)
	}()
	p.stop = sync.OnceFunc(func() {
		close(end)
		<-ended
	})
	return p
}

func (p *progress) show(a *app, what string, total int, end <-chan struct{}) {
	begin := time.Now()
	select {
	case <-end:
		return
	case <-time.After(progressAfter):
	}
	for tick := time.NewTicker(progressEvery); ; {
		fmt.Fprintf(a.err, "\r\x1b[K%s: %s", what, p.text(max(total, int(p.total.Load())), time.Since(begin)))
		select {
		case <-end:
			tick.Stop()
			fmt.Fprint(a.err, "\r\x1b[K")
			return
		case <-tick.C:
		}
	}
}

func (p *progress) text(total int, took time.Duration) string {
	seconds := fmt.Sprintf("%ds", int(took.Seconds()))
	switch n := p.done.Load(); {
	case total > 0:
		return fmt.Sprintf("%d of %d, %s", n, total, seconds)
	case n > 0:
		return fmt.Sprintf("%d, %s", n, seconds)
	}
	return seconds
}
