package sandboxtest

import (
	"context"
	"errors"
	"time"

	"github.com/openrath-go/rath/sandbox"
)

// busyTree is a line that starts processes in several ways. All add to the file "beats"
// until they are ended.
const busyTree = `beat() { while :; do echo beat >>beats; sleep 0.05; done; }
beat & (beat &) ; sh -c 'while :; do echo beat >>beats; sleep 0.05; done' & (trap "" HUP TERM INT; beat) &
until [ -s beats ]; do sleep 0.05; done; echo begun; beat`

// cancelRules are those of how commands are ended.
var cancelRules = []rule{
	{"does not begin when cancelled before", "nobody waits for the result", "Exec Files", func(c check) {
		ctx, cancel := context.WithCancel(c.ctx)
		cancel()
		_, err := c.s.Exec(ctx, sandbox.Command{Shell: "echo >made"})
		c.is(err, context.Canceled, "run under a context that has ended")
		c.is(c.s.WriteFile(ctx, "made", nil), context.Canceled, "write under a context that has ended")
		if ok, err := c.s.Exists(c.ctx, "made"); ok || err != nil {
			c.broken("it was done nonetheless: %v, %v", ok, err)
		}
	}},
	{"stops when cancelled", "Ctrl-C must end what a tool began", "Exec", func(c check) {
		ctx, cancel := context.WithCancel(c.ctx)
		defer cancel()
		live := &trigger{text: "begun", fire: cancel}
		r, err := c.s.Exec(ctx, sandbox.Command{Shell: "echo begun; sleep 600 & sleep 600", Stdout: live})
		c.is(err, context.Canceled, "run and cancel")
		if r.Stdout != "begun\n" {
			c.broken("what came before the cancel is lost: %+v", r)
		}
	}},
	{"stops at the context's deadline", "a caller's time is not the command's", "Exec", func(c check) {
		ctx, cancel := context.WithTimeout(c.ctx, time.Second)
		defer cancel()
		r, err := c.s.Exec(ctx, sandbox.Command{Shell: "sleep 600", Timeout: time.Hour})
		c.is(err, context.DeadlineExceeded, "run past the deadline")
		if r.TimedOut {
			c.broken("the result says that the command's own time was up")
		}
	}},
	{"gives the cause of a cancel", "a caller must know its own reasons again", "Exec", func(c check) {
		why := errors.New("enough of it")
		ctx, cancel := context.WithCancelCause(c.ctx)
		defer cancel(nil)
		live := &trigger{text: "begun", fire: func() { cancel(why) }}
		_, err := c.s.Exec(ctx, sandbox.Command{Shell: "echo begun; sleep 600", Stdout: live})
		c.is(err, why, "run and cancel with a cause")
	}},
	{"ends the whole tree when cancelled", "a build leaves nothing behind that still writes", "Exec Files", func(c check) {
		ctx, cancel := context.WithCancel(c.ctx)
		defer cancel()
		_, err := c.s.Exec(ctx, sandbox.Command{Shell: busyTree, Stdout: &trigger{text: "begun", fire: cancel}})
		c.is(err, context.Canceled, "run and cancel")
		c.quiet()
	}},
	{"ends the whole tree at the timeout", "a build leaves nothing behind that still writes", "Exec Files", func(c check) {
		r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: busyTree, Timeout: time.Second})
		c.must(err, "run out of time")
		if !r.TimedOut {
			c.broken("the result is %+v", r)
		}
		c.quiet()
	}},
	{"goes on after a cancel", "one command's end is not the sandbox's", "Exec Files", func(c check) {
		ctx, cancel := context.WithCancel(c.ctx)
		defer cancel()
		_, err := c.s.Exec(ctx, sandbox.Command{Shell: "echo left >file; echo begun; sleep 600", Stdout: &trigger{text: "begun", fire: cancel}})
		c.is(err, context.Canceled, "run and cancel")
		c.holds(c.s, "file", "left\n")
		if r := c.shell("cat file"); r.Stdout != "left\n" {
			c.broken("the next command is %+v", r)
		}
	}},
}

// quiet waits until nothing adds to the file "beats" any more.
func (c check) quiet() {
	c.Helper()
	last := int64(-1)
	c.comes(func() bool {
		r := c.shell("sleep 0.3; wc -c <beats")
		e, err := c.s.Stat(c.ctx, "beats")
		c.must(err, "look at the file")
		same := e.Size == last && r.ExitCode == 0
		last = e.Size
		return same
	}, "nothing writes any more")
}
