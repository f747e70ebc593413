package offline

import (
	"fmt"
	"regexp"
	"strings"
)

type searchOutput struct {
	Matches   []searchMatch `json:"matches"`
	Truncated bool          `json:"truncated"`
	Skipped   []string      `json:"skipped"`
}

type searchMatch struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// search looks for a text in a folder, or in a file: the tool knows folders only.
func search(text, name string) step {
	return func(p *plan) (string, bool) {
		r, ok := p.call(searchTool, map[string]any{"pattern": regexp.QuoteMeta(text), "path": name})
		if !ok {
			return "", false
		}
		var out searchOutput
		switch {
		case r.kind() == "tool_execution_exception" && p.tools.has(readTool):
			c, ok := p.file(name)
			switch {
			case !ok || c.problem != "":
				return r.failed(), ok
			case c.tooLong:
				return c.excuse(name, "searches it", "grep -nF -e "+shellWord(text)+" < "+shellWord(name)), true
			}
			out = searchText(text, name, c.text)
		case r.failed() != "":
			return r.failed(), true
		case !r.decode(&out):
			return r.text, true
		}
		return out.tell(text), true
	}
}

func searchText(text, name, data string) (out searchOutput) {
	n := 0
	for line := range strings.Lines(data) {
		if n++; strings.Contains(line, text) {
			out.Matches = append(out.Matches, searchMatch{name, n, strings.TrimRight(line, "\r\n")})
		}
	}
	return out
}

func (out searchOutput) tell(text string) string {
	lines := []string{fmt.Sprintf("%q is on %s:", text, plural(len(out.Matches), "line"))}
	if len(out.Matches) == 0 {
		lines[0] = fmt.Sprintf("%q is on no line.", text)
	}
	for _, m := range out.Matches {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", m.Path, m.Line, m.Text))
	}
	if out.Truncated {
		lines = append(lines, "... and more")
	}
	if len(out.Skipped) > 0 {
		lines = append(lines, "These are too long to search: "+strings.Join(out.Skipped, ", "))
	}
	return strings.Join(lines, "\n")
}
