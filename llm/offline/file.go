package offline

import (
	"fmt"
	"strconv"
	"strings"
)

// maxRounds is how many rounds a reply may need: an agent's default, less some for what
// else is asked.
const maxRounds = 60

// contents is what came of reading a file.
type contents struct {
	text    string
	problem string // why there is no text, in words for the user
	kind    string // of the problem, in the tool's word
	tooLong bool   // to be read in the rounds that are left
	size    int64  // in bytes, of a file that is too long; 0: unknown
}

// file reads a whole file, page by page where the tool gives pages. It is false while it
// waits for one.
func (p *plan) file(name string) (contents, bool) {
	var b strings.Builder
	var page page
	for {
		args := map[string]any{"path": name}
		if page.Next > 0 {
			args["offset"] = page.Next
		}
		r, ok := p.find(readTool, args)
		switch {
		case !ok && page.Next > 0 && p.rounds+page.left() > maxRounds:
			return contents{tooLong: true, size: page.Size}, true
		case !ok:
			p.ask(readTool, args)
			return contents{}, false
		case r.failed() != "":
			return contents{problem: r.failed(), kind: r.kind()}, true
		}
		before := page.Next
		page = r.page()
		b.WriteString(page.Data)
		switch {
		case !page.Truncated:
			return contents{text: b.String()}, true
		case page.Next <= before:
			return contents{tooLong: true, size: page.Size}, true // there is no way to the rest
		}
	}
}

// page is what the read tool gives.
type page struct {
	Data      string `json:"data"`
	Truncated bool   `json:"truncated"`
	Next      int64  `json:"next_offset"`
	Size      int64  `json:"size_bytes"`
}

func (r result) page() (p page) {
	if !r.decode(&p) {
		p = page{Data: r.text}
	}
	return p
}

// left is how many pages come after this one, if they are as long.
func (p page) left() int {
	length := max(int64(len(p.Data)), 1)
	return int(max((p.Size-p.Next+length-1)/length, 1))
}

// measure lets the shell count what is too long to read.
func (p *plan) measure(name, line string, c contents, tell func(n int) string) (string, bool) {
	if line == "" || !p.tools.has(shellTool) {
		return c.excuse(name, "counts it", line), true
	}
	r, ok := p.call(shellTool, map[string]any{"cmd": line})
	if !ok {
		return "", false
	}
	var out shellOutput
	if r.failed() == "" && r.decode(&out) && out.Stderr == "" {
		if n, err := strconv.Atoi(strings.TrimSpace(out.Stdout)); err == nil {
			return tell(n), true
		}
	}
	return c.excuse(name, "counts it", line), true
}

// excuse says that a file is too long, and which line in a shell does what.
func (c contents) excuse(name, does, line string) string {
	text := name + " is too long for me to read page by page."
	if c.size > 0 {
		text = fmt.Sprintf("%s has %s: that is too long for me to read page by page.", name, plural(int(c.size), "byte"))
	}
	if line != "" {
		text += " In a shell, this " + does + ": " + line
	}
	return text
}

// counters are the shell's ways to count what is in a file, each as count does. A locale
// must not change what a word is.
var counters = map[string]string{
	"line":      "wc -l < FILE",
	"word":      `LC_ALL=C tr -s '[:space:]' '\n' < FILE | LC_ALL=C grep -ac .`,
	"character": `LC_ALL=C tr -d '\200-\277' < FILE | wc -c`,
	"byte":      "wc -c < FILE",
}

func counter(unit, name string) string {
	return strings.Replace(counters[unit], "FILE", shellWord(name), 1)
}

// shellWord quotes a word for the shell, where it must be.
func shellWord(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
