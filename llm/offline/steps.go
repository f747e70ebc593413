package offline

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// step does one part of a request. It gives its answer, or false when it waits for
// calls.
type step func(*plan) (string, bool)

// count counts as wc does; what is one of its units.
func count(what, name string) step {
	return func(p *plan) (string, bool) {
		c, ok := p.file(name)
		tell := func(n int) string { return fmt.Sprintf("%s has %s.", name, plural(n, what)) }
		switch {
		case !ok:
			return "", false
		case c.tooLong && what == "byte" && c.size > 0:
			return tell(int(c.size)), true
		case c.tooLong:
			return p.measure(name, counter(what, name), c, tell)
		case c.problem != "":
			return c.problem, true
		}
		n := 0
		switch what {
		case "word":
			n = len(strings.Fields(c.text))
		case "line":
			n = strings.Count(c.text, "\n")
		case "character":
			n = utf8.RuneCountInString(c.text)
		case "byte":
			n = len(c.text)
		}
		return tell(n), true
	}
}

// countText counts how often a text occurs in a file.
func countText(text, name string) step {
	return func(p *plan) (string, bool) {
		c, ok := p.file(name)
		tell := func(n int) string { return fmt.Sprintf("%q occurs %s in %s.", text, plural(n, "time"), name) }
		switch {
		case !ok:
			return "", false
		case c.tooLong:
			line := "LC_ALL=C grep -aoF -e " + shellWord(text) + " < " + shellWord(name) + " | wc -l"
			if strings.Contains(text, "\n") {
				line = "" // grep would take it for two texts
			}
			return p.measure(name, line, c, tell)
		case c.problem != "":
			return c.problem, true
		}
		return tell(strings.Count(c.text, text)), true
	}
}

// read shows a file; a folder is listed.
func read(name string) step {
	return func(p *plan) (string, bool) {
		c, ok := p.file(name)
		switch {
		case !ok:
			return "", false
		case c.tooLong:
			return c.excuse(name, "shows its beginning", "head -c 2000 "+shellWord(name)), true
		case c.kind == "not_a_regular_file" && p.tools.has(listTool):
			return list(name)(p)
		case c.problem != "":
			return c.problem, true
		}
		return c.text, true
	}
}

// add puts a text behind what is in a file, on a line of its own if asked for.
func add(name, text string, line bool) step {
	if line {
		text += "\n"
	}
	return func(p *plan) (string, bool) {
		c, ok := p.file(name)
		switch {
		case !ok:
			return "", false
		case c.tooLong:
			return c.excuse(name, "adds to it", "printf %s "+shellWord(text)+" >> "+shellWord(name)), true
		case strings.ContainsRune(c.text, utf8.RuneError): // it came changed, and must not go back so
			return name + " is no plain text: I do not add to it.", true
		case c.problem != "" && c.kind != "path_not_found":
			return c.problem, true
		}
		if line && c.text != "" && !strings.HasSuffix(c.text, "\n") {
			c.text += "\n"
		}
		args := map[string]any{"path": name, "content": c.text + text}
		return p.report(writeTool, args, func(result) string { return fmt.Sprintf("I added %s to %s.", plural(len(text), "byte"), name) })
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
			var out listOutput
			if !r.decode(&out) {
				return r.text
			}
			lines := []string{fmt.Sprintf("%s holds %s:", dir, out.entries())}
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

type listOutput struct {
	Entries []struct {
		Name  string `json:"name"`
		IsDir bool   `json:"is_dir"`
	} `json:"entries"`
	Truncated bool `json:"truncated"`
	Total     int  `json:"total"`
}

func (out listOutput) entries() string {
	switch n := len(out.Entries); {
	case out.Truncated:
		return fmt.Sprintf("more than %d entries, the first of which are", n)
	case n == 1:
		return "1 entry"
	default:
		return fmt.Sprintf("%d entries", n)
	}
}

// countFiles counts what is directly in a folder.
func countFiles(dir string) step {
	return func(p *plan) (string, bool) {
		return p.report(listTool, map[string]any{"path": dir}, func(r result) string {
			var out listOutput
			if !r.decode(&out) {
				return r.text
			}
			if out.Truncated {
				return fmt.Sprintf("%s holds %d entries, files and folders together.", dir, max(out.Total, len(out.Entries)))
			}
			folders := 0
			for _, e := range out.Entries {
				if e.IsDir {
					folders++
				}
			}
			text := fmt.Sprintf("%s holds %s", dir, plural(len(out.Entries)-folders, "file"))
			if folders > 0 {
				text += " and " + plural(folders, "folder")
			}
			return text + "."
		})
	}
}

type findOutput struct {
	Paths     []string `json:"paths"`
	Truncated bool     `json:"truncated"`
}

func find(glob, dir string) step {
	return func(p *plan) (string, bool) {
		return p.report(findTool, map[string]any{"glob": glob, "path": dir}, func(r result) string {
			var out findOutput
			if !r.decode(&out) {
				return r.text
			}
			head := fmt.Sprintf("%s of %s in %s:", matches(len(out.Paths)), glob, dir)
			if out.Truncated {
				head = "The first " + head
			}
			return strings.Join(append([]string{head}, out.Paths...), "\n")
		})
	}
}

// countFound counts the files whose names match, in all folders below one.
func countFound(glob, dir string) step {
	return func(p *plan) (string, bool) {
		return p.report(findTool, map[string]any{"glob": glob, "path": dir}, func(r result) string {
			var out findOutput
			if !r.decode(&out) {
				return r.text
			}
			text := fmt.Sprintf("%s of %s in %s and below.", matches(len(out.Paths)), glob, dir)
			if out.Truncated {
				text = "More than " + text
			}
			return text
		})
	}
}

func matches(n int) string {
	if n == 1 {
		return "1 match"
	}
	return fmt.Sprintf("%d matches", n)
}

type shellOutput struct {
	ExitCode int    `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
}

func shell(line string) step {
	return func(p *plan) (string, bool) {
		return p.report(shellTool, map[string]any{"cmd": line}, func(r result) string {
			var out shellOutput
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
	if problem := r.failed(); problem != "" {
		return problem, true
	}
	return tell(r), true
}

func say(text string) step { return func(*plan) (string, bool) { return text, true } }
