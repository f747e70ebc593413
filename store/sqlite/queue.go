package sqlite

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/store"
)

// job is something to write.
type job struct {
	op   string // for errors: "append to run"
	on   any    // the id
	size int64  // about, in bytes
	lazy bool   // it may wait for a transaction that others need
	do   func(*writer) error
	done chan error // has room for the answer
	turn sqlitedb.Turn
}

// The limits of what waits: who comes then waits too.
const (
	maxQueued = 64 << 20 // bytes
	jobSize   = 1 << 10  // of the smallest job
	maxBatch  = 512      // jobs in one transaction
)

// lazyWait is how long lazy jobs wait for company: each transaction costs a wait for the
// disk, and whoever comes just behind would wait for theirs too.
const lazyWait = 5 * time.Millisecond

// queue holds jobs in the order in which they came.
type queue struct {
	room   *semaphore.Weighted
	wake   chan struct{}
	mu     sync.Mutex
	jobs   []*job
	eager  int       // jobs that are not lazy
	due    time.Time // when the lazy ones have waited enough
	closed bool
}

func newQueue() *queue {
	return &queue{room: semaphore.NewWeighted(maxQueued), wake: make(chan struct{}, 1)}
}

func (q *queue) put(ctx context.Context, j *job) error {
	j.size = min(j.size+jobSize, maxQueued)
	if err := q.room.Acquire(ctx, j.size); err != nil {
		return err
	}
	q.mu.Lock()
	closed := q.closed
	if !closed {
		q.add(j)
	}
	q.mu.Unlock()
	if closed {
		q.room.Release(j.size)
		return store.ErrClosed
	}
	return nil
}

// add queues a job, and wakes the writer if it is worth a transaction.
func (q *queue) add(j *job) {
	q.jobs = append(q.jobs, j)
	switch {
	case !j.lazy:
		q.eager++
		q.signal()
	case len(q.jobs) == 1:
		q.due = time.Now().Add(lazyWait)
		time.AfterFunc(lazyWait, q.signal)
	case len(q.jobs) == maxBatch:
		q.signal()
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take waits for jobs and takes what is there, up to a batch. It returns none when the
// queue is closed and empty.
func (q *queue) take() []*job {
	for {
		q.mu.Lock()
		jobs := q.ready()
		n, closed := len(jobs), q.closed
		q.mu.Unlock()
		for _, j := range jobs {
			q.room.Release(j.size)
		}
		if n > 0 || closed {
			return jobs
		}
		<-q.wake
	}
}

// ready removes a batch from the queue, none if nothing in it is due.
func (q *queue) ready() []*job {
	n := min(len(q.jobs), maxBatch)
	if q.eager == 0 && n < maxBatch && !q.closed && time.Now().Before(q.due) {
		return nil
	}
	jobs := q.jobs[:n:n]
	if q.jobs = q.jobs[n:]; len(q.jobs) == 0 {
		q.jobs = nil
	}
	for _, j := range jobs {
		if !j.lazy {
			q.eager--
		}
	}
	return jobs
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}
