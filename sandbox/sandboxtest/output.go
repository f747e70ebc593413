package sandboxtest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/openrath-go/rath/sandbox"
)

// outputRules are those of what commands read and print.
var outputRules = []rule{
	{"caps output", "a chatty command must not fill the memory", "Exec", func(c check) {
		live := &counter{}
		r, err := c.s.Exec(c.ctx, sandbox.Command{
			Shell: `printf BEGIN; head -c 3000000 /dev/zero | tr '\0' x; printf END`, MaxOutput: 1000, Stdout: live,
		})
		c.must(err, "run")
		if !r.Truncated || len(r.Stdout) > 1100 || !strings.HasPrefix(r.Stdout, "BEGIN") ||
			!strings.HasSuffix(r.Stdout, "END") || !strings.Contains(r.Stdout, "bytes cut") {
			c.broken("output is not cut with a mark between its beginning and its end: %d bytes", len(r.Stdout))
		}
		if live.n != 3000008 {
			c.broken("the live copy got %d bytes of 3000008", live.n)
		}
	}},
	{"passes output on while it comes", "who watches a build wants to see it", "Exec Files", func(c check) {
		begun := make(chan struct{})
		live := &trigger{text: "begun", fire: func() { close(begun) }}
		var r sandbox.Result
		var err error
		var ended sync.WaitGroup
		ended.Go(func() {
			r, err = c.s.Exec(c.ctx, sandbox.Command{Shell: "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo end", Stdout: live})
		})
		<-begun // the command waits for the file, so this came before its end
		c.write("go", "")
		ended.Wait()
		c.must(err, "run")
		if r.Stdout != "begun\nend\n" || string(live.got) != r.Stdout {
			c.broken("the result has %q, the live copy %q", r.Stdout, live.got)
		}
	}},
	{"keeps the order within a stream", "a log is read from top to bottom", "Exec", func(c check) {
		var out, err strings.Builder
		for i := range 2000 {
			fmt.Fprintln(&out, i)
			fmt.Fprintln(&err, -i)
		}
		r := c.shell("i=0; while [ $i -lt 2000 ]; do echo $i; echo -$i >&2; i=$((i+1)); done")
		if want := strings.Replace(err.String(), "0", "-0", 1); r.Stdout != out.String() || r.Stderr != want {
			c.broken("%d and %d bytes are not the %d and %d that were printed in order", len(r.Stdout), len(r.Stderr), out.Len(), len(want))
		}
	}},
	{"passes bytes as they are", "output need not be text", "Exec Files", func(c check) {
		all := make([]byte, 0, 512)
		for i := range 256 {
			all = append(all, byte(i), byte(255-i))
		}
		c.write("bytes", string(all))
		for name, line := range map[string]string{"a file": "cat bytes", "nothing at the end": "printf x", "two lines": `printf '\r\n\n'`} {
			want := map[string]string{"a file": string(all), "nothing at the end": "x", "two lines": "\r\n\n"}[name]
			if r := c.shell(line); r.Stdout != want {
				c.broken("%s: %s printed %q, want %q", name, line, r.Stdout, want)
			}
			if r := c.shell(line + " >&2"); r.Stderr != want {
				c.broken("%s: %s printed %q on the standard error, want %q", name, line, r.Stderr, want)
			}
		}
	}},
	{"reads its input to the end", "tools hand over whole files", "Exec Files", func(c check) {
		for _, in := range []string{"", "no newline", "\x00\xff\r\n", strings.Repeat("0123456789abcde\n", 1<<15)} {
			r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "cat >in", Stdin: strings.NewReader(in)})
			c.must(err, "run with input")
			if r.ExitCode != 0 {
				c.broken("the result is %+v", r)
			}
			c.holds(c.s, "in", in)
		}
		if r := c.shell("cat; echo end"); r.Stdout != "end\n" {
			c.broken("without an input it reads %q", r.Stdout)
		}
		r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "true", Stdin: strings.NewReader(strings.Repeat("x", 1<<20))})
		if err != nil || r.ExitCode != 0 {
			c.broken("a command that does not read its input is %+v, %v", r, err)
		}
	}},
	{"takes lines of any length", "minified files have one", "Exec", func(c check) {
		live := &counter{}
		r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: `head -c 900000 /dev/zero | tr '\0' x`, Stdout: live})
		c.must(err, "run")
		if r.Stdout != strings.Repeat("x", 900000) || r.Truncated || live.n != 900000 {
			c.broken("a line of 900000 bytes is %d bytes in the result and %d live", len(r.Stdout), live.n)
		}
	}},
}

type counter struct{ n int }

func (w *counter) Write(p []byte) (int, error) {
	w.n += len(p)
	return len(p), nil
}

// trigger fires once when a text has come.
type trigger struct {
	text string
	fire func()
	got  []byte
}

func (w *trigger) Write(p []byte) (int, error) {
	w.got = append(w.got, p...)
	if w.fire != nil && strings.Contains(string(w.got), w.text) {
		w.fire()
		w.fire = nil
	}
	return len(p), nil
}
