package run

import (
	"context"
	"sync"

	"github.com/openrath-go/rath/store"
)

// landing is a commit that several may ask for.
type landing struct {
	commit store.Commit
	mu     sync.Mutex
	landed bool
	err    error
}

// wait waits until the batch is on disk, or ctx ends.
func (l *landing) wait(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.landed {
		return l.err
	}
	select {
	case l.err = <-l.commit:
		l.landed = true
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// look reports whether the batch has come to its end, without waiting.
func (l *landing) look() (landed bool, err error) {
	if !l.mu.TryLock() {
		return false, nil // somebody waits: it has not
	}
	defer l.mu.Unlock()
	if !l.landed {
		select {
		case l.err = <-l.commit:
			l.landed = true
		default:
		}
	}
	return l.landed, l.err
}

// flight is the batches of a run on their way, in their order.
type flight []*landing

// add adds one, and forgets those that are on disk.
func (f *flight) add(c store.Commit) *landing {
	for len(*f) > 0 {
		if landed, err := (*f)[0].look(); !landed || err != nil {
			break
		}
		*f = (*f)[1:]
	}
	l := &landing{commit: c}
	*f = append(*f, l)
	return l
}

// cause is why a batch failed: the first failure, which took those after it along.
func (f flight) cause(err error) error {
	for _, l := range f {
		if _, first := l.look(); first != nil {
			return first
		}
	}
	return err
}
