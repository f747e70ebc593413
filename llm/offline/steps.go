package offline

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// step does one part of a request. It gives its answer, or false when it waits for
// calls.
type step func(*plan) (string, bool)

// file reads a whole file, page by page where the tool gives pages.
func (p *plan) file(name string) (text, problem string, ok bool) {
	var b strings.Builder
	args := map[string]any{"path": name}
	for {
		r, ok := p.call(readTool, args)
		if !ok {
			return "", "", false
		}
		if problem, failed := r.failed(); failed {
			return "", problem, true
		}
		var page struct {
			Data       string `json:"data"`
			Truncated  bool   `json:"truncated"`
			NextOffset int64  `json:"next_offset"`
		}
		if !r.decode(&page) {
			page.Data = r.text
		}
		b.WriteString(page.Data)
		if !page.Truncated || page.NextOffset == 0 {
			return b.String(), "", true
		}
		args = map[string]any{"path": name, "offset": page.NextOffset}
	}
}

// count counts as wc does; what is one of its units.
func count(what, name string) step {
	return func(p *plan) (string, bool) {
		text, problem, ok := p.file(name)
		if !ok || problem != "" {
			return problem, ok
		}
		n := 0
		switch what {
		case "word":
			n = len(bytes.FieldsFunc([]byte(text), unicode.IsSpace))
		case "line":
			n = strings.Count(text, "\n")
		case "character":
			n = utf8.RuneCountInString(text)
		case "byte":
			n = len(text)
		}
		return fmt.Sprintf("%s has %s.", name, plural(n, what)), true
	}
}

// countText counts how often a text occurs in a file.
func countText(text, name string) step {
	return func(p *plan) (string, bool) {
		data, problem, ok := p.file(name)
		if !ok || problem != "" {
			return problem, ok
		}
		return fmt.Sprintf("%q occurs %s in %s.", text, plural(strings.Count(data, text), "time"), name), true
	}
}

func read(name string) step {
	return func(p *plan) (string, bool) {
		text, problem, ok := p.file(name)
		if problem != "" {
			return problem, ok
		}
		return text, ok
	}
}

func write(name, text string) step {
	return func(p *plan) (string, bool) {
		return p.report(writeTool, map[string]any{"path": name, "content": text}, func(r result) string {
			var out struct {
				BytesWritten int `json:"bytes_written"`
			}
			if !r.decode(&out) {
				return r.text
			}
			return fmt.Sprintf("I wrote %s to %s.", plural(out.BytesWritten, "byte"), name)
		})
	}
}

func list(dir string) step {
	return func(p *plan) (string, bool) {
		return p.report(listTool, map[string]any{"path": dir}, func(r result) string {
			var out struct {
				Entries []struct {
					Name  string `json:"name"`
					IsDir bool   `json:"is_dir"`
				} `json:"entries"`
				Truncated bool `json:"truncated"`
			}
			if !r.decode(&out) {
				return r.text
			}
			lines := []string{fmt.Sprintf("%s holds %s:", dir, entries(len(out.Entries), out.Truncated))}
			for _, e := range out.Entries {
				if e.IsDir {
					e.Name += "/"
				}
				lines = append(lines, e.Name)
			}
			return strings.Join(lines, "\n")
		})
	}
}

func entries(n int, more bool) string {
	switch {
	case more:
		return fmt.Sprintf("more than %d entries, the first of which are", n)
	case n == 1:
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func find(glob, dir string) step {
	return func(p *plan) (string, bool) {
		return p.report(findTool, map[string]any{"glob": glob, "path": dir}, func(r result) string {
			var out struct {
				Paths     []string `json:"paths"`
				Truncated bool     `json:"truncated"`
			}
			if !r.decode(&out) {
				return r.text
			}
			head := fmt.Sprintf("%s of %s in %s:", plural(len(out.Paths), "match"), glob, dir)
			if len(out.Paths) != 1 {
				head = fmt.Sprintf("%d matches of %s in %s:", len(out.Paths), glob, dir)
			}
			if out.Truncated {
				head = "The first " + head
			}
			return strings.Join(append([]string{head}, out.Paths...), "\n")
		})
	}
}

func search(text, dir string) step {
	return func(p *plan) (string, bool) {
		return p.report(searchTool, map[string]any{"pattern": quoteRE(text), "path": dir}, func(r result) string {
			var out struct {
				Matches []struct {
					Path string `json:"path"`
					Line int    `json:"line"`
					Text string `json:"text"`
				} `json:"matches"`
				Truncated bool `json:"truncated"`
			}
			if !r.decode(&out) {
				return r.text
			}
			lines := []string{fmt.Sprintf("%q is on %s:", text, plural(len(out.Matches), "line"))}
			for _, m := range out.Matches {
				lines = append(lines, fmt.Sprintf("%s:%d: %s", m.Path, m.Line, m.Text))
			}
			if out.Truncated {
				lines = append(lines, "... and more")
			}
			return strings.Join(lines, "\n")
		})
	}
}

func shell(line string) step {
	return func(p *plan) (string, bool) {
		return p.report(shellTool, map[string]any{"cmd": line}, func(r result) string {
			var out struct {
				ExitCode int    `json:"exit_code"`
				Stdout   string `json:"stdout"`
				Stderr   string `json:"stderr"`
			}
			if !r.decode(&out) {
				return r.text
			}
			text := strings.TrimRight(out.Stdout+out.Stderr, "\n")
			if out.ExitCode != 0 {
				return strings.TrimLeft(text+fmt.Sprintf("\nThe command ended with exit code %d.", out.ExitCode), "\n")
			}
			if text == "" {
				return "The command ended well and put nothing out."
			}
			return text
		})
	}
}

// own calls a tool of the user's and shows what it gives.
func own(tool string, arguments map[string]any) step {
	return func(p *plan) (string, bool) {
		return p.report(tool, arguments, func(r result) string { return fmt.Sprintf("%s says: %s", tool, r.text) })
	}
}

func (p *plan) report(tool string, arguments map[string]any, tell func(result) string) (string, bool) {
	r, ok := p.call(tool, arguments)
	if !ok {
		return "", false
	}
	if problem, failed := r.failed(); failed {
		return problem, true
	}
	return tell(r), true
}

func say(text string) step { return func(*plan) (string, bool) { return text, true } }
