package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/driver"
)

// closer is a driver that can only be closed.
type closer struct {
	driver.Sandbox
	close func()
}

func (closer) Placement() driver.Placement { return driver.Placement{Backend: "fake"} }

func (c closer) Close() error {
	c.close()
	return nil
}

func TestInterrupts(t *testing.T) {
	for _, test := range []struct {
		name   string
		second bool          // a second signal comes at once
		stuck  bool          // the sandbox does not close
		after  time.Duration // from the first signal to the end
	}{
		{name: "second signal", second: true},
		{name: "second signal, stuck sandbox", second: true, stuck: true, after: reap},
		{name: "the run does not end", after: grace},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var closed atomic.Int32
				release := make(chan struct{})
				a := &app{}
				a.sandbox.Store(sandbox.New(closer{close: func() {
					closed.Add(1)
					if test.stuck {
						<-release
					}
				}}))
				signals := make(chan os.Signal, 2)
				ended := make(chan int, 1)
				ctx := a.interruptible(signals, func(code int) { ended <- code })
				begin := time.Now()
				signals <- os.Interrupt
				<-ctx.Done()
				synctest.Wait()
				if closed.Load() > 0 {
					t.Error("the first signal leaves the run no time")
				}
				if test.second {
					signals <- os.Interrupt
				}
				if code := <-ended; code != exitInterrupted {
					t.Errorf("exit code %d", code)
				}
				if n := closed.Load(); n != 1 {
					t.Errorf("the sandbox was closed %d times", n)
				}
				if took := time.Since(begin); took != test.after {
					t.Errorf("it took %v, want %v", took, test.after)
				}
				close(release)
			})
		})
	}
}

// Whoever waits for stdin can be interrupted.
func TestStdinIsInterrupted(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &app{in: r}
	if _, err := a.message(ctx, []string{"-"}); !errors.Is(err, context.Canceled) || exitCode(err) != exitInterrupted {
		t.Error(err)
	}
}
