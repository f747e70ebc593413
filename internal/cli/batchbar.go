package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
)

// bar is a progress bar on stderr.
type bar struct {
	mu   sync.Mutex
	last flow.Progress
}

func (b *bar) set(p flow.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = p
}

func (b *bar) made() flow.Progress {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// draw draws the bar until stop is called, on a terminal where nothing else is written.
func (b *bar) draw(d *drive, quiet bool, total int, used func() session.Usage) (stop func()) {
	if a := d.a; !a.terminal.err || a.asJSON || a.terminal.out && !quiet {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	begin := time.Now()
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-end:
				fmt.Fprint(d.a.err, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprint(d.a.err, "\r\x1b[K"+barText(b.made(), total, time.Since(begin), used()))
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

const barWidth = 24

// barText is the bar and what it stands for.
func barText(p flow.Progress, total int, took time.Duration, u session.Usage) string {
	full := barWidth * p.Ended / max(total, 1)
	text := strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
	text += fmt.Sprintf(" %d of %d", p.Ended, total)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	text += fmt.Sprintf(" · %d at work · %d tokens", p.Begun-p.Ended, u.Total())
	if p.Ended == 0 {
		return text
	}
	left := time.Duration(float64(took) / float64(p.Ended) * float64(total-p.Ended))
	return text + fmt.Sprintf(" · %.1f/s · %v left", float64(p.Ended)/took.Seconds(), left.Round(time.Second))
}
