package opensandbox

import (
	"io"
	"time"
)

// SetSilence has a daemon be taken for dead sooner.
func (e *Execd) SetSilence(d time.Duration) { e.silence = d }

// ReadEvents returns the events of a stream, and why it ended. Longer ones are cut.
func ReadEvents(r io.Reader, max int) (all []Event, err error) {
	s := newEvents(r)
	s.max = max
	for {
		e, err := s.next()
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}
