package sandboxtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/sandbox"
)

// streamRules are those of [sandbox.Stream].
var streamRules = []rule{
	{"streams keep their order", "what is submitted first is done first", "Exec Files", func(c check) {
		st := sandbox.NewStream(c.ctx, c.s)
		defer st.Close()
		var want strings.Builder
		for i := range 10 {
			fmt.Fprintln(&want, i)
			st.Exec(sandbox.Command{Shell: fmt.Sprintf("echo %d >>log", i)})
		}
		data, err := st.ReadFile("log").Wait(c.ctx)
		if string(data) != want.String() || err != nil {
			c.broken("the log is %q, %v", data, err)
		}
		st.WriteFile("log", []byte("new"))
		if data, err := st.ReadFile("log").Wait(c.ctx); string(data) != "new" || err != nil {
			c.broken("behind a write the file holds %q, %v", data, err)
		}
	}},
	{"streams go side by side", "one that waits must not hold up the others", "Exec Files", func(c check) {
		waits, goes := sandbox.NewStream(c.ctx, c.s), sandbox.NewStream(c.ctx, c.s)
		defer waits.Close()
		defer goes.Close()
		end := waits.Exec(sandbox.Command{Shell: "until [ -e go ]; do sleep 0.02; done; cat go"})
		goes.WriteFile("go", []byte("went"))
		if r, err := end.Wait(c.ctx); r.Stdout != "went" && r.Stdout != "" || err != nil {
			c.broken("the one that waited is %+v, %v", r, err)
		}
	}},
	{"streams wait for events", "a result is needed before what builds on it", "Exec Files", func(c check) {
		first, second := sandbox.NewStream(c.ctx, c.s), sandbox.NewStream(c.ctx, c.s)
		defer first.Close()
		defer second.Close()
		begin := first.Record()
		first.Exec(sandbox.Command{Shell: "sleep 0.2; echo made >made"})
		done := first.Record()
		second.WaitFor(done)
		if data, err := second.ReadFile("made").Wait(c.ctx); string(data) != "made\n" || err != nil {
			c.broken("behind the event the file holds %q, %v", data, err)
		}
		if d, err := sandbox.Elapsed(c.ctx, begin, done); d <= 0 || err != nil {
			c.broken("between the events there are %v, %v", d, err)
		}
	}},
	{"streams end what they run when cancelled", "who gives up gives up all of it", "Exec", func(c check) {
		st := sandbox.NewStream(c.ctx, c.s)
		defer st.Close()
		begun := make(chan struct{})
		runs := st.Exec(sandbox.Command{Shell: "echo begun; sleep 600", Stdout: &trigger{text: "begun", fire: func() { close(begun) }}})
		queued := st.Exec(sandbox.Command{Shell: "true"})
		<-begun
		st.Cancel()
		_, err := runs.Wait(c.ctx)
		c.is(err, context.Canceled, "run on a stream that is cancelled")
		_, err = queued.Wait(c.ctx)
		c.is(err, context.Canceled, "queue on a stream that is cancelled")
	}},
	{"streams close when all is done", "who closes waits for the rest", "Exec Files", func(c check) {
		st := sandbox.NewStream(c.ctx, c.s)
		queued := st.Exec(sandbox.Command{Shell: "sleep 0.1; echo late >late"})
		st.Close()
		select {
		case <-queued.Done():
		default:
			c.broken("the stream closed before its work was done")
		}
		c.holds(c.s, "late", "late\n")
		_, err := st.Exec(sandbox.Command{Shell: "true"}).Wait(c.ctx)
		c.is(err, sandbox.ErrClosed, "submit after close")
	}},
	{"streams fail when the sandbox closes", "nobody may wait for ever", "Exec", func(c check) {
		st := sandbox.NewStream(c.ctx, c.s)
		begun := make(chan struct{})
		runs := st.Exec(sandbox.Command{Shell: "echo begun; sleep 600", Stdout: &trigger{text: "begun", fire: func() { close(begun) }}})
		queued := st.Exec(sandbox.Command{Shell: "true"})
		<-begun
		c.must(c.s.Close(), "close the sandbox")
		_, first := runs.Wait(c.ctx)
		_, second := queued.Wait(c.ctx)
		c.is(first, sandbox.ErrClosed, "run while the sandbox closes")
		c.is(second, sandbox.ErrClosed, "run when the sandbox has closed")
		st.Close()
	}},
}
