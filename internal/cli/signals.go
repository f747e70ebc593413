package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	grace = 5 * time.Second // for an interrupted run to end
	reap  = 2 * time.Second // for its sandbox to kill what is left
)

// signals returns what tells the program to end. The hangup that nohup has turned off
// stays so. A broken pipe must not kill the program, which would leave commands behind:
// the write fails instead. It is caught, not ignored, since commands would inherit that.
func signals() <-chan os.Signal {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return c
}

// interruptible returns a context that the first signal cancels. A second one, or a run
// that does not come to its end, exits, though not before the sandbox has had time to
// kill what runs in it.
func (a *app) interruptible(signals <-chan os.Signal, exit func(code int)) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
		select {
		case <-signals:
		case <-time.After(grace):
		}
		a.abandon()
		exit(exitInterrupted)
	}()
	return ctx
}

// abandon closes the sandbox of the run, and waits for it a little.
func (a *app) abandon() {
	sb := a.sandbox.Load()
	if sb == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = sb.Close() // there is nobody left to tell
	}()
	select {
	case <-closed:
	case <-time.After(reap):
	}
}
