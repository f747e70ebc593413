// Package policy has rules about what an agent's tools may be called with: allow, ask or
// deny, by the tool's name, by paths and by commands.
//
// It is a convenience and not a security boundary. Paths are resolved before the call runs,
// and may lead elsewhere when it does. A path is what the call names, not what lies below it:
// a search of "." reads secret/k although a rule denies "secret/**", unless another denies
// the tool, or the path ".". Of a shell's line it sees each simple command, through
// pipelines, lists, substitutions, functions, and the usual programs that run others (env,
// xargs, sh -c, eval, find -exec, ...). What sh and bash read differently, arithmetic, arrays,
// [[ ]], options that are not known and the like could be anything: no pattern allows it, and
// a rule that forbids any command forbids it. It does not see what a script, an interpreter
// (python -c, awk), a Makefile, an alias of git, a program from the workspace or one by its own
// options (tar, rsync) does, nor what another machine is told to do; and rm -r -f is not the
// text "rm -rf". What must not be possible is what the sandbox does not let happen.
//
// Next: [github.com/openrath-go/rath/llm/openai], the first of the drivers of models.
package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// Policy is rules. The strictest that holds for a call counts: deny beats ask, ask beats
// allow, in whatever order they are. Set its fields before the first use; then it is safe
// for concurrent use. It is a [tool.Policy].
type Policy struct {
	Rules []Rule `json:"rules"`
	// Else is for calls that no rule decides. Undecided: as if there were no policy, so
	// such a call runs where nobody must be asked about it.
	Else tool.Verdict `json:"else,omitzero"`
}

// Rule is about a tool and, if it has one of Path, Command and Text, about an argument. A
// rule that denies or asks holds where any value of the argument could be meant; rules that
// allow must hold, together, for all of them.
type Rule struct {
	Verdict tool.Verdict `json:"verdict"`
	Tool    string       `json:"tool,omitempty"` // a name in which * stands for any text; empty: every tool
	Arg     string       `json:"arg,omitempty"`  // the argument; empty: "path" with Path, "cmd" with Command

	// Path is a glob of paths in the workspace, "src/**/*.go", with ** for any number of
	// folders; one without a slash is about the last name. Paths are compared as the
	// sandbox resolves them. One that it cannot resolve could be any.
	Path string `json:"path,omitempty"`
	// Command is the text of a simple command, its words joined by blanks and * for any
	// text; a last " *" may be missing. What comes from variables, substitutions and globs
	// could be anything, and so could a line that is not understood for sure. A redirection is a command of its own, "> FILE" or "< FILE", and
	// so is an assignment, "NAME=VALUE".
	Command string `json:"command,omitempty"`
	// Text is what the argument says, with * for any text.
	Text string `json:"text,omitempty"`

	Reason string `json:"reason,omitempty"` // for the model and for who is asked
}

// Judge implements [tool.Policy].
func (p *Policy) Judge(ctx context.Context, t *tool.Tool, call session.Call) (tool.Judgment, error) {
	var args map[string]any
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil {
		return tool.Judgment{Verdict: tool.Deny, Reason: "the arguments are not a JSON object"}, nil
	}
	j := judging{ctx: ctx, tool: t, args: args, facets: map[facet][]subject{}}
	for _, r := range p.Rules {
		if r.Tool == "" || matches(r.Tool, t.Name) {
			j.apply(r)
		}
	}
	return j.end(p.Else), nil
}

// String has the rules as JSON.
func (p *Policy) String() string {
	data, _ := json.Marshal(p) // texts: it always encodes
	return string(data)
}

// Check reports rules that cannot be meant.
func (p *Policy) Check() error {
	var errs []error
	for i, r := range p.Rules {
		n := 0
		for _, pattern := range []string{r.Path, r.Command, r.Text} {
			if pattern != "" {
				n++
			}
		}
		switch {
		case r.Verdict == tool.Undecided || r.Verdict > tool.Deny:
			errs = append(errs, fmt.Errorf("rule %d has no verdict", i))
		case n > 1:
			errs = append(errs, fmt.Errorf("rule %d: it can be about one of path, command and text", i))
		case n == 0 && r.Arg != "":
			errs = append(errs, fmt.Errorf("rule %d names an argument and nothing about it", i))
		case r.Text != "" && r.Arg == "":
			errs = append(errs, fmt.Errorf("rule %d: the text of which argument?", i))
		}
	}
	return errors.Join(errs...)
}

// facet is a way to look at an argument.
type facet struct {
	arg  string
	kind string // "path", "command" or "text"
}

// subject is one thing that a facet has: a file, a simple command, a text.
type subject struct {
	text    string
	also    []string // other texts by which rules that forbid know it
	unknown bool     // it could be anything
	allowed bool
}

func (r Rule) facet() facet {
	switch {
	case r.Path != "":
		return facet{cmp.Or(r.Arg, "path"), "path"}
	case r.Command != "":
		return facet{cmp.Or(r.Arg, "cmd"), "command"}
	case r.Text != "":
		return facet{r.Arg, "text"}
	}
	return facet{}
}

// allows reports whether a rule is surely about a subject.
func (r Rule) allows(s subject) bool {
	switch {
	case s.unknown:
		return false
	case r.Path != "":
		return matchesPath(r.Path, s.text)
	case r.Command != "":
		return matchesCommand(r.Command, s.text)
	}
	return matches(r.Text, s.text)
}

// forbids reports whether a rule could be about a subject.
func (r Rule) forbids(s subject) bool {
	if s.unknown {
		return true
	}
	for _, text := range append([]string{s.text}, s.also...) {
		switch {
		case r.Path != "" && matchesPath(r.Path, text),
			r.Command != "" && couldMatchCommand(r.Command, text),
			r.Text != "" && matches(r.Text, text):
			return true
		}
	}
	return false
}

// untold is why a line is asked about that no rule is surely about.
const untold = "what it runs cannot be told from the line"

// reason is why a rule forbids a call, for the sake of a subject.
func (r Rule) reason(s subject) string {
	if s.unknown && r.Command != "" {
		s.unknown = false
		return untold + ", which could be this: " + r.reason(s)
	}
	if r.Reason != "" {
		return r.Reason
	}
	f := r.facet()
	if f.kind == "" {
		return fmt.Sprintf("%s %s", r.Verdict, cmp.Or(r.Tool, "every tool"))
	}
	return fmt.Sprintf("%s %s where the %s is %s", r.Verdict, cmp.Or(r.Tool, "every tool"), f.kind, r.Path+r.Command+r.Text)
}
