package flow

import (
	"context"
	"iter"
	"sync"

	"github.com/openrath-go/rath/session"
)

// Events runs a workflow and yields what happens, as it happens. The last event is an
// [End] with the workflow's own result; an error comes with it once more as the second
// value. A slow reader does not hold up the run: what it has not read yet waits in
// memory. Leaving the loop early cancels the run and waits until it has stopped.
func Events(ctx context.Context, w Workflow, s session.Session) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		q := newQueue()
		var out session.Session
		var err error
		go func() {
			defer q.close()
			out, err = Forward(Observe(ctx, q.put), "", w, s)
		}()
		defer func() {
			cancel()
			<-q.closed
		}()
		for e, ok := q.take(); ok; e, ok = q.take() {
			if !yield(e, nil) {
				return
			}
		}
		yield(End{At{"", out.ID()}, out, err}, err)
	}
}

// queue is an unbounded FIFO with one reader.
type queue struct {
	mu     sync.Mutex
	events []Event
	more   chan struct{} // holds a token when there is something to take
	closed chan struct{}
}

func newQueue() *queue {
	return &queue{more: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (q *queue) put(e Event) {
	q.mu.Lock()
	q.events = append(q.events, e)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

func (q *queue) close() { close(q.closed) }

// take returns the next event, false when there will be none.
func (q *queue) take() (Event, bool) {
	for {
		if e, ok := q.pop(); ok {
			return e, true
		}
		select {
		case <-q.more:
		case <-q.closed:
			return q.pop()
		}
	}
}

func (q *queue) pop() (Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) == 0 {
		return nil, false
	}
	e := q.events[0]
	q.events[0] = nil
	q.events = q.events[1:]
	return e, true
}
