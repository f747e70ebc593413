// Package sandboxtest checks that a sandbox driver keeps the rules which tools and
// agents rely on. A driver's own tests call [Run].
package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openrath-go/rath/sandbox"
)

// Run runs the suite. open returns a new sandbox with an empty workspace; the suite
// closes it. Rules about what the driver does not claim in its Capabilities are skipped.
func Run(t *testing.T, open func(t *testing.T) *sandbox.Sandbox) {
	runDenials(t, open)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			switch caps := s.Capabilities(); {
			case rule.exec && !caps.Exec:
				t.Skip("the driver does not claim Exec")
			case rule.files && !caps.Files:
				t.Skip("the driver does not claim Files")
			}
			rule.check(check{t, s, t.Context(), rule.because})
		})
	}
}

// rule is one promise of a sandbox, and why it matters.
type rule struct {
	name        string
	because     string
	exec, files bool
	check       func(check)
}

// check is a rule at work on one sandbox.
type check struct {
	*testing.T
	s       *sandbox.Sandbox
	ctx     context.Context
	because string
}

func (c check) broken(format string, args ...any) {
	c.Helper()
	c.Errorf(format+"\n\tthe rule: "+c.because, args...)
}

func (c check) must(err error, doing string) {
	c.Helper()
	if err != nil {
		c.Fatalf("%s: %v\n\tthe rule: %s", doing, err, c.because)
	}
}

func (c check) write(name, text string) {
	c.Helper()
	c.must(c.s.WriteFile(c.ctx, name, []byte(text)), "write "+name)
}

func (c check) is(err, want error, doing string) {
	c.Helper()
	if !errors.Is(err, want) {
		c.broken("%s: got error %v, want one that is %q", doing, err, want)
	}
}

func (c check) shell(line string) sandbox.Result {
	c.Helper()
	r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: line, Timeout: time.Minute})
	c.must(err, "run "+line)
	return r
}

var rules = []rule{
	{"describes itself", "records must say where something ran", false, false, func(c check) {
		p := c.s.Placement()
		if p.Backend == "" || p.ID == "" || c.s.ID() != p.ID || !strings.HasPrefix(c.s.String(), p.Backend+":") {
			c.broken("placement %+v of %s is incomplete", p, c.s)
		}
		if p.Level != c.s.Policy().Level {
			c.broken("the placement says level %q, the policy %q", p.Level, c.s.Policy().Level)
		}
	}},
	{"reads back what it wrote", "a tool must find what another left", false, true, func(c check) {
		for _, data := range []string{"", "text\n", "\x00\xff binary \r\n", strings.Repeat("x", 1<<20), "世界"} {
			c.write("a/b/c.txt", data)
			got, err := c.s.ReadFile(c.ctx, "a/b/c.txt")
			c.must(err, "read")
			if !bytes.Equal(got, []byte(data)) {
				c.broken("wrote %d bytes, read %d that differ", len(data), len(got))
			}
		}
	}},
	{"reads ranges", "a huge file must not be loaded whole", false, true, func(c check) {
		c.write("f", "0123456789")
		data, size, err := c.s.ReadRange(c.ctx, "f", 3, 4)
		c.must(err, "read a range")
		if string(data) != "3456" || size != 10 {
			c.broken("range 3+4 of 0123456789 is %q of %d, want \"3456\" of 10", data, size)
		}
		if data, _, err := c.s.ReadRange(c.ctx, "f", 20, 4); err != nil || len(data) != 0 {
			c.broken("a range past the end is %q, %v, want empty", data, err)
		}
	}},
	{"lists sorted", "results must be the same each time", false, true, func(c check) {
		for _, name := range []string{"d/b", "d/a", "d/sub/x", "d/ü"} {
			c.write(name, name)
		}
		entries, err := c.s.List(c.ctx, "d")
		c.must(err, "list")
		var names []string
		for _, e := range entries {
			names = append(names, e.Path)
			if e.IsDir != (e.Name == "sub") {
				c.broken("entry %+v has the wrong kind", e)
			}
		}
		if got := strings.Join(names, " "); got != "d/a d/b d/sub d/ü" {
			c.broken("the list is %q", got)
		}
	}},
	{"walks everything once", "search must see every file", false, true, func(c check) {
		for _, name := range []string{"w/1", "w/2/3", "w/2/4", "w/skip/5"} {
			c.write(name, "")
		}
		var seen []string
		c.must(c.s.Walk(c.ctx, "w", func(e sandbox.Entry, err error) error {
			c.must(err, "list "+e.Path)
			seen = append(seen, e.Path)
			if e.Name == "skip" {
				return fs.SkipDir
			}
			return nil
		}), "walk")
		if got := strings.Join(seen, " "); got != "w/1 w/2 w/2/3 w/2/4 w/skip" {
			c.broken("the walk saw %q", got)
		}
	}},
	{"names what is missing", "a tool tells the model that a file is not there", false, true, func(c check) {
		_, err := c.s.ReadFile(c.ctx, "no/such")
		c.is(err, fs.ErrNotExist, "read a missing file")
		_, err = c.s.List(c.ctx, "no")
		c.is(err, fs.ErrNotExist, "list a missing folder")
		c.is(c.s.Remove(c.ctx, "no"), fs.ErrNotExist, "remove a missing file")
		if ok, err := c.s.Exists(c.ctx, "no"); ok || err != nil {
			c.broken("Exists of a missing file is %v, %v", ok, err)
		}
		var e *sandbox.Error
		if !errors.As(err, &e) || e.Op == "" || !strings.Contains(e.Error(), "no") {
			c.broken("error %v does not say what was attempted on what", err)
		}
	}},
	{"refuses to leave the workspace", "a model must not reach the host's files", false, true, func(c check) {
		for _, name := range []string{"..", "../x", "a/../../x", "/etc/passwd", "/", "a/../../../etc/passwd"} {
			_, err := c.s.ReadFile(c.ctx, name)
			c.is(err, sandbox.ErrEscape, "read "+name)
			c.is(c.s.WriteFile(c.ctx, name, nil), sandbox.ErrEscape, "write "+name)
			_, err = c.s.List(c.ctx, name)
			c.is(err, sandbox.ErrEscape, "list "+name)
			c.is(c.s.Remove(c.ctx, name), sandbox.ErrEscape, "remove "+name)
			_, err = c.s.Canonical(name)
			c.is(err, sandbox.ErrEscape, "resolve "+name)
		}
	}},
	{"removes", "a tool must be able to clean up", false, true, func(c check) {
		c.write("r/s/t", "")
		c.must(c.s.Remove(c.ctx, "r"), "remove a folder")
		if ok, _ := c.s.Exists(c.ctx, "r/s/t"); ok {
			c.broken("the folder's file is still there")
		}
		if c.s.Remove(c.ctx, ".") == nil {
			c.broken("the workspace itself was removed")
		}
	}},
	{"runs commands", "that is what it is for", true, true, func(c check) {
		r := c.shell(`printf out; printf err >&2; exit 3`)
		if r.Stdout != "out" || r.Stderr != "err" || r.ExitCode != 3 || r.TimedOut || r.Truncated {
			c.broken("the result is %+v", r)
		}
		r, err := c.s.Exec(c.ctx, sandbox.Command{Args: []string{"printf", "%s|", "a b", "$HOME", "'"}})
		c.must(err, "run with arguments")
		if r.Stdout != "a b|$HOME|'|" {
			c.broken("arguments arrived as %q", r.Stdout)
		}
	}},
	{"runs in the workspace", "commands and file tools must see the same files", true, true, func(c check) {
		c.write("dir/in.txt", "hello")
		r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "cat in.txt >out.txt", Dir: "dir"})
		c.must(err, "run in a folder")
		if got, err := c.s.ReadFile(c.ctx, "dir/out.txt"); string(got) != "hello" {
			c.broken("the command's file holds %q, %v (%+v)", got, err, r)
		}
		_, err = c.s.Exec(c.ctx, sandbox.Command{Shell: "true", Dir: "../"})
		c.is(err, sandbox.ErrEscape, "run outside the workspace")
	}},
	{"follows no link outside", "a command may make any link; file tools must not fall for it", true, true, func(c check) {
		c.shell(`ln -s /etc/passwd file; ln -s / dir; ln -s ../.. up; mkdir d; echo in >d/in; ln -s d inside`)
		for _, name := range []string{"file", "dir/etc/passwd", "up/etc/passwd", "inside/../../../etc/passwd"} {
			_, err := c.s.ReadFile(c.ctx, name)
			c.is(err, sandbox.ErrEscape, "read "+name)
			c.is(c.s.WriteFile(c.ctx, name, []byte("x")), sandbox.ErrEscape, "write "+name)
		}
		if got, err := c.s.ReadFile(c.ctx, "inside/in"); string(got) != "in\n" {
			c.broken("through a link inside: %q, %v", got, err)
		}
		if name, err := c.s.Canonical("inside/in"); name != "d/in" {
			c.broken("the canonical name of inside/in is %q, %v, want d/in", name, err)
		}
		c.must(c.s.Remove(c.ctx, "dir"), "remove the link itself")
	}},
	{"keeps keys to itself", "commands are the model's, keys are the user's", true, false, func(c check) {
		c.Setenv("OPENAI_API_KEY", "sk-secret-1")
		c.Setenv("MY_PASSWORD", "secret-2")
		r := c.shell("env; cat /proc/self/environ 2>/dev/null; true")
		if strings.Contains(r.Stdout, "secret-") {
			c.broken("env shows a key: %s", r.Stdout)
		}
		if !strings.Contains(r.Stdout, "PATH=") {
			c.broken("env has no PATH: %s", r.Stdout)
		}
	}},
	{"passes what the command asks for", "a tool must be able to set variables", true, false, func(c check) {
		r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: `cat; echo "$A"`, Env: []string{"A=1 2"}, Stdin: strings.NewReader("in ")})
		c.must(err, "run with stdin and a variable")
		if r.Stdout != "in 1 2\n" {
			c.broken("got %q", r.Stdout)
		}
	}},
	{"caps output", "a chatty command must not fill the memory", true, false, func(c check) {
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
	{"stops at the timeout", "a command that hangs must not hang the agent", true, false, func(c check) {
		r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "echo begun; sleep 600", Timeout: 200 * time.Millisecond})
		c.must(err, "run out of time")
		if !r.TimedOut || r.Stdout != "begun\n" || r.ExitCode == 0 {
			c.broken("the result is %+v", r)
		}
	}},
	{"stops when cancelled", "Ctrl-C must end what a tool began", true, false, func(c check) {
		ctx, cancel := context.WithCancel(c.ctx)
		live := &trigger{text: "begun", fire: cancel}
		r, err := c.s.Exec(ctx, sandbox.Command{Shell: "echo begun; sleep 600 & sleep 600", Stdout: live})
		c.is(err, context.Canceled, "run and cancel")
		if r.Stdout != "begun\n" {
			c.broken("what came before the cancel is lost: %+v", r)
		}
	}},
	{"runs in parallel", "many agents share one sandbox", true, true, func(c check) {
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				name := string(rune('a' + i))
				r, err := c.s.Exec(c.ctx, sandbox.Command{Args: []string{"echo", name}})
				if err != nil || r.Stdout != name+"\n" {
					c.broken("command %s gave %+v, %v", name, r, err)
				}
				if err := c.s.WriteFile(c.ctx, "p/"+name, []byte(name)); err != nil {
					c.broken("write %s: %v", name, err)
				}
			})
		}
		wg.Wait()
		if entries, err := c.s.List(c.ctx, "p"); len(entries) != 16 {
			c.broken("%d files of 16, %v", len(entries), err)
		}
	}},
	{"runs code in the languages it claims", "a claim is a promise", true, false, func(c check) {
		for _, lang := range c.s.Capabilities().Languages {
			source, want := programs[lang].source, programs[lang].want
			r, err := c.s.RunCode(c.ctx, sandbox.Code{Language: lang, Source: source, Timeout: time.Minute})
			if err != nil || r.Stdout+r.Text != want || r.Error != "" {
				c.broken("%s: got %+v, %v, want output %q", lang, r, err, want)
			}
		}
		_, err := c.s.RunCode(c.ctx, sandbox.Code{Language: "cobol", Source: "x"})
		c.is(err, sandbox.ErrUnsupported, "run a language nobody has")
	}},
	{"closes for good", "whoever closes must know that nothing runs on", true, true, func(c check) {
		var wg sync.WaitGroup
		begun := make(chan struct{})
		wg.Go(func() {
			live := &trigger{text: "begun", fire: func() { close(begun) }}
			_, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "echo begun; sleep 600", Stdout: live})
			c.is(err, sandbox.ErrClosed, "run while it closes")
		})
		<-begun
		c.must(c.s.Close(), "close")
		wg.Wait()
		c.must(c.s.Close(), "close again")
		_, err := c.s.ReadFile(c.ctx, "x")
		c.is(err, sandbox.ErrClosed, "read after close")
		_, err = c.s.Exec(c.ctx, sandbox.Command{Shell: "true"})
		c.is(err, sandbox.ErrClosed, "run after close")
	}},
	{"refuses a command that is none", "a mistake must not run something else", true, false, func(c check) {
		if _, err := c.s.Exec(c.ctx, sandbox.Command{}); err == nil {
			c.broken("the empty command ran")
		}
		if _, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "true", Args: []string{"true"}}); err == nil {
			c.broken("a command that is two ran")
		}
	}},
}

var programs = map[string]struct{ source, want string }{
	"python": {"x = 20\nprint('hi')\nx * 2 + 2", "hi\n42"},
	"bash":   {"echo $((6 * 7))", "42\n"},
	"node":   {"console.log(6 * 7)", "42\n"},
	"go":     {"package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(6 * 7) }\n", "42\n"},
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
