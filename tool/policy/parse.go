package policy

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/openrath-go/rath/tool"
)

// ErrPattern is wrapped by the errors of [Parse].
var ErrPattern = errors.New("it is no pattern of calls: TOOL, TOOL:PATTERN or TOOL.ARGUMENT:PATTERN")

var pattern = regexp.MustCompile(`^([A-Za-z0-9_*-]+)(?:\.([A-Za-z0-9_-]+))?(?::(.+))?$`)

// Parse reads what people write for a rule:
//
//	write_workspace_file            every call of the tool; * stands for any text in its name
//	write_workspace_file:docs/**    calls whose path is in docs
//	run_shell_command:git diff *    calls that run such a command
//	fetch.url:https://example.com/* calls whose argument says so
//
// Without the name of an argument it is about "path" and "cmd", whichever the tool has, which
// makes two rules. "path" is a glob of paths, "cmd" a command, and others are texts: see
// [Rule].
func Parse(v tool.Verdict, text string) ([]Rule, error) {
	m := pattern.FindStringSubmatch(text)
	if m == nil || m[2] != "" && m[3] == "" {
		return nil, fmt.Errorf("%q: %w", text, ErrPattern)
	}
	name, arg, about := m[1], m[2], m[3]
	if about == "" {
		return []Rule{{Verdict: v, Tool: name}}, nil
	}
	path, command := Rule{Verdict: v, Tool: name, Path: about}, Rule{Verdict: v, Tool: name, Command: about}
	switch arg {
	case "":
		return []Rule{path, command}, nil
	case "path":
		return []Rule{path}, nil
	case "cmd":
		return []Rule{command}, nil
	}
	return []Rule{{Verdict: v, Tool: name, Arg: arg, Text: about}}, nil
}

// Concerns reports whether a rule could be about calls of a tool: it has the name, and the
// argument, if the rule is about one.
func (r Rule) Concerns(t *tool.Tool) bool {
	if r.Tool != "" && !matches(r.Tool, t.Name) {
		return false
	}
	arg := r.facet().arg
	return arg == "" || takes(t, arg)
}
