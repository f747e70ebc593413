package sandboxtest

import (
	"strings"
	"time"

	"github.com/openrath-go/rath/sandbox"
)

// commandRules are those of commands and program texts.
var commandRules = []rule{
	{"runs commands", "that is what it is for", "Exec Files", func(c check) {
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
	{"runs in the workspace", "commands and file tools must see the same files", "Exec Files", func(c check) {
		c.write("dir/in.txt", "hello")
		r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "cat in.txt >out.txt", Dir: "dir"})
		c.must(err, "run in a folder")
		if got, err := c.s.ReadFile(c.ctx, "dir/out.txt"); string(got) != "hello" {
			c.broken("the command's file holds %q, %v (%+v)", got, err, r)
		}
		_, err = c.s.Exec(c.ctx, sandbox.Command{Shell: "true", Dir: "../"})
		c.is(err, sandbox.ErrEscape, "run outside the workspace")
	}},
	{"keeps keys to itself", "commands are the model's, keys are the user's", "Exec", func(c check) {
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
	{"passes what the command asks for", "a tool must be able to set variables", "Exec", func(c check) {
		r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: `cat; echo "$A"`, Env: []string{"A=1 2"}, Stdin: strings.NewReader("in ")})
		c.must(err, "run with stdin and a variable")
		if r.Stdout != "in 1 2\n" {
			c.broken("got %q", r.Stdout)
		}
	}},
	{"refuses a command that is none", "a mistake must not run something else", "Exec", func(c check) {
		if _, err := c.s.Exec(c.ctx, sandbox.Command{}); err == nil {
			c.broken("the empty command ran")
		}
		if _, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "true", Args: []string{"true"}}); err == nil {
			c.broken("a command that is two ran")
		}
	}},
	{"stops at the timeout", "a command that hangs must not hang the agent", "Exec", func(c check) {
		r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "echo begun; sleep 600", Timeout: time.Second})
		c.must(err, "run out of time")
		if !r.TimedOut || r.Stdout != "begun\n" || r.ExitCode == 0 {
			c.broken("the result is %+v", r)
		}
	}},
	{"runs code in the languages it claims", "a claim is a promise", "Exec Languages", func(c check) {
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
}

var programs = map[string]struct{ source, want string }{
	"python": {"x = 20\nprint('hi')\nx * 2 + 2", "hi\n42"},
	"bash":   {"echo $((6 * 7))", "42\n"},
	"node":   {"console.log(6 * 7)", "42\n"},
	"go":     {"package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(6 * 7) }\n", "42\n"},
}
