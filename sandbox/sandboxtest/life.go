package sandboxtest

import (
	"os"
	"runtime"
	"sync"

	"github.com/openrath-go/rath/sandbox"
)

// lifeRules are those of opening and closing.
var lifeRules = []rule{
	{"closes for good", "whoever closes must know that nothing runs on", "Exec Files", func(c check) {
		var running sync.WaitGroup
		begun := make(chan struct{}, 4)
		for range cap(begun) {
			running.Go(func() {
				live := &trigger{text: "begun", fire: func() { begun <- struct{}{} }}
				_, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "echo begun; sleep 600", Stdout: live})
				c.is(err, sandbox.ErrClosed, "run while it closes")
			})
		}
		for range cap(begun) {
			<-begun
		}
		c.must(c.s.Close(), "close")
		running.Wait()
	}},
	{"closes once", "there is more than one reason to close", "", func(c check) {
		c.together(8, func(int) error { return c.s.Close() })
		c.must(c.s.Close(), "close again")
	}},
	{"does nothing after close", "whoever closes must know that nothing is done any more", "", func(c check) {
		c.must(c.s.Close(), "close")
		for name, do := range map[string]func() error{
			"read":     func() error { _, err := c.s.ReadFile(c.ctx, "x"); return err },
			"write":    func() error { return c.s.WriteFile(c.ctx, "x", nil) },
			"list":     func() error { _, err := c.s.List(c.ctx, "."); return err },
			"stat":     func() error { _, err := c.s.Stat(c.ctx, "x"); return err },
			"exists":   func() error { _, err := c.s.Exists(c.ctx, "x"); return err },
			"remove":   func() error { return c.s.Remove(c.ctx, "x") },
			"resolve":  func() error { _, err := c.s.Canonical("x"); return err },
			"walk":     func() error { return c.s.Walk(c.ctx, ".", func(sandbox.Entry, error) error { return nil }) },
			"run":      func() error { _, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "true"}); return err },
			"run code": func() error { _, err := c.s.RunCode(c.ctx, sandbox.Code{Source: "1"}); return err },
			"snapshot": func() error { _, err := c.s.Snapshot(c.ctx); return err },
		} {
			c.is(do(), sandbox.ErrClosed, name+" after close")
		}
		if p := c.s.Placement(); p.ID == "" || c.s.String() == "" {
			c.broken("a closed sandbox does not say any more what it was")
		}
	}},
	{"is by itself", "what one agent does must not turn up at another's", "Exec Files", func(c check) {
		other := c.open(c.T)
		defer other.Close()
		if other.ID() == c.s.ID() {
			c.broken("two sandboxes have the ID %s", c.s.ID())
		}
		c.write("file", "mine")
		if ok, err := other.Exists(c.ctx, "file"); ok || err != nil {
			c.broken("a file of one is in another: %v, %v", ok, err)
		}
		c.must(other.Close(), "close the other")
		c.holds(c.s, "file", "mine")
		if r := c.shell("cat file"); r.Stdout != "mine" {
			c.broken("when one has closed, another's command is %+v", r)
		}
	}},
	{"leaves nothing in the program", "a server opens many", "Exec Files", func(c check) {
		use := func() {
			s := c.open(c.T)
			_, err := s.Exec(c.ctx, sandbox.Command{Shell: "true"})
			c.must(err, "run")
			c.must(s.WriteFile(c.ctx, "x", nil), "write")
			c.must(s.Close(), "close")
		}
		use() // what is made once
		goroutines, files := runtime.NumGoroutine(), openFiles()
		const times = 6
		for range times {
			use()
		}
		// Connections may be kept for the next, but not one for each.
		c.comes(func() bool { return runtime.NumGoroutine() < goroutines+times && openFiles() < files+times }, "goroutines and files are gone")
	}},
}

// openFiles counts those of this process, where that can be seen.
func openFiles() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}
