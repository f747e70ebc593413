package local

import (
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// warden is a thread of the program with fewer rights than the others. What it starts
// has no more than it has itself, and all that it ever starts counts as of one kind, so
// that commands may signal each other. No helper program and no second start of this one
// is needed for that; the other threads, and those yet to come, are as they were.
type warden struct {
	work chan func()
	gone chan struct{}
}

// newWarden starts the thread and has it give up rights.
func newWarden(restrict func() error) (*warden, error) {
	w := &warden{work: make(chan func()), gone: make(chan struct{})}
	ready := make(chan error)
	go w.live(restrict, ready)
	if err := <-ready; err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *warden) live(restrict func() error, ready chan<- error) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
	if unix.Gettid() == os.Getpid() {
		w.elsewhere(restrict, ready)
		return
	}
	defer close(w.gone)
	ready <- restrict()
	for do := range w.work {
		do()
	}
}

// elsewhere leaves the program's first thread alone, which cannot end: while it is held
// here, another goroutine gets another thread.
func (w *warden) elsewhere(restrict func() error, ready chan<- error) {
	result := make(chan error)
	go w.live(restrict, result)
	err := <-result
	runtime.UnlockOSThread()
	ready <- err
}

// keepFiles keeps from commands what the program has inherited open, such as a folder
// that leads outside. What Go opens itself stays behind in any case.
func keepFiles() {
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // since Linux 5.11
}

// do runs a function on the thread.
func (w *warden) do(fn func() error) (err error) {
	done := make(chan struct{})
	w.work <- func() {
		defer close(done)
		err = fn()
	}
	<-done
	return err
}

func (w *warden) close() {
	close(w.work)
	<-w.gone
}
