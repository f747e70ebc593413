package workspace

import (
	"context"
	"os"
	"time"
)

// lock takes a lock on a file, shared or exclusive, as soon as it can be had. The system
// lets go of it when the process ends, however it does.
func lock(ctx context.Context, name string, exclusive bool) (release func(), err error) {
	f, err := lockFile(ctx, name, exclusive)
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

// lockFile returns the file that has the lock until it is closed, by all who have it open.
func lockFile(ctx context.Context, name string, exclusive bool) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		ok, err := tryLock(f, exclusive)
		if ok {
			return f, nil
		}
		if err == nil {
			err = pause(ctx, wait)
		}
		if err != nil {
			f.Close()
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// use holds off the collection of what an operation relies on, and learns what packs there
// are. An operation must not begin another: a collection that waits goes first.
func (s *Store) use(ctx context.Context) (release func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f, err := s.enter(ctx, false)
	if err != nil {
		return nil, err
	}
	if err := s.objects.packs.refresh(); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// enter takes the lock of the whole store. All go through a gate, where whoever wants it
// alone keeps others from coming in.
func (s *Store) enter(ctx context.Context, alone bool) (*os.File, error) {
	open, err := lock(ctx, s.own("gate"), alone)
	if err != nil {
		return nil, err
	}
	defer open()
	return lockFile(ctx, s.own("lock"), alone)
}
