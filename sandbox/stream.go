package sandbox

import (
	"context"
	"sync"
	"time"
)

// Stream runs operations on a sandbox one after the other, in the order in which they
// were submitted, while the submitter goes on: what a CUDA stream is to a device.
// Submitting is safe from many goroutines.
type Stream struct {
	sandbox *Sandbox
	ctx     context.Context
	cancel  context.CancelFunc

	mu     sync.Mutex
	tail   chan struct{} // closed when all that was submitted has run
	closed bool
}

// NewStream opens a stream. Operations run under ctx. Close it to wait for them.
func NewStream(ctx context.Context, s *Sandbox) *Stream {
	ctx, cancel := context.WithCancel(ctx)
	tail := make(chan struct{})
	close(tail)
	return &Stream{sandbox: s, ctx: ctx, cancel: cancel, tail: tail}
}

// Future is the result of an operation that may not have run yet.
type Future[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// Done is closed when the operation has run.
func (f *Future[T]) Done() <-chan struct{} { return f.done }

// Wait returns the operation's result, or ctx's error if that ends first.
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// Submit queues an operation behind those already there. On a closed stream the future
// is ErrClosed at once.
func Submit[T any](st *Stream, op func(context.Context, *Sandbox) (T, error)) *Future[T] {
	f := &Future[T]{done: make(chan struct{})}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		f.err = ErrClosed
		close(f.done)
		return f
	}
	before := st.tail
	st.tail = f.done
	go func() {
		defer close(f.done)
		<-before
		if f.err = st.ctx.Err(); f.err == nil {
			f.value, f.err = op(st.ctx, st.sandbox)
		}
	}()
	return f
}

// Exec queues a command.
func (st *Stream) Exec(c Command) *Future[Result] {
	return Submit(st, func(ctx context.Context, s *Sandbox) (Result, error) { return s.Exec(ctx, c) })
}

// ReadFile queues the reading of a file.
func (st *Stream) ReadFile(name string) *Future[[]byte] {
	return Submit(st, func(ctx context.Context, s *Sandbox) ([]byte, error) { return s.ReadFile(ctx, name) })
}

// WriteFile queues the writing of a file.
func (st *Stream) WriteFile(name string, data []byte) *Future[struct{}] {
	return Submit(st, func(ctx context.Context, s *Sandbox) (struct{}, error) {
		return struct{}{}, s.WriteFile(ctx, name, data)
	})
}

// Event marks a point in a stream.
type Event struct{ at *Future[time.Time] }

// Record marks the point behind all that was submitted so far.
func (st *Stream) Record() *Event {
	return &Event{Submit(st, func(context.Context, *Sandbox) (time.Time, error) { return time.Now(), nil })}
}

// Wait returns when the stream has come to the event.
func (e *Event) Wait(ctx context.Context) error {
	_, err := e.at.Wait(ctx)
	return err
}

// Elapsed returns the time between two events, once both have come.
func Elapsed(ctx context.Context, from, to *Event) (time.Duration, error) {
	a, err := from.at.Wait(ctx)
	if err != nil {
		return 0, err
	}
	b, err := to.at.Wait(ctx)
	return b.Sub(a), err
}

// WaitFor lets the stream go no further until an event of another stream has come.
func (st *Stream) WaitFor(e *Event) *Future[struct{}] {
	return Submit(st, func(ctx context.Context, _ *Sandbox) (struct{}, error) { return struct{}{}, e.Wait(ctx) })
}

// Cancel ends the operation that runs and fails those behind it.
func (st *Stream) Cancel() { st.cancel() }

// Close waits for all that was submitted. Later submissions fail.
func (st *Stream) Close() {
	st.mu.Lock()
	st.closed = true
	tail := st.tail
	st.mu.Unlock()
	<-tail
	st.cancel()
}
