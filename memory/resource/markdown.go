package resource

import "strings"

// readMarkdown makes paragraphs, lists and fences blocks, under their headings.
func readMarkdown(text string) (title string, blocks []block) {
	title, text, line := frontMatter(text)
	m := &markdown{title: title, at: line}
	for l := range strings.SplitAfterSeq(text, "\n") {
		m.line(l)
		m.at++
	}
	m.flush()
	return m.title, m.blocks
}

// markdown reads line by line.
type markdown struct {
	title    string
	blocks   []block
	headings []heading

	at       int // the line's number
	text     strings.Builder
	first    int    // the line that the text began with
	fence    string // what ends the fence that is open
	code     bool   // the text is a fence
	gap      bool   // the text ends with an empty line
	heading  bool   // the text is a heading so far, which stays with what follows
	previous string // the line before, if it may be a heading by the line below it
}

type heading struct {
	level int
	text  string
}

func (m *markdown) line(l string) {
	bare := strings.TrimRight(l, " \t\n")
	switch {
	case m.fence != "":
		m.put(l)
		if closes(bare, m.fence) {
			m.fence = ""
			m.flush()
		}
		return
	case bare == "":
		m.put(l)
		m.gap, m.previous = true, ""
		return
	}
	level, text := atx(bare)
	fence := opens(bare)
	switch {
	case fence != "":
		m.part()
		m.code, m.fence = true, fence
	case level > 0:
		m.flush()
		m.enter(level, text)
	case m.previous != "" && underline(bare) > 0:
		m.setext(l, underline(bare))
		return
	case m.gap:
		m.part()
	}
	m.put(l)
	m.heading = level > 0
	m.previous = ""
	if level == 0 && fence == "" && strings.TrimLeft(bare, " ") == bare {
		m.previous = bare
	}
}

func (m *markdown) put(l string) {
	if m.text.Len() == 0 {
		m.first = m.at
	}
	m.text.WriteString(l)
}

// part begins a block, unless there is only a heading so far.
func (m *markdown) part() {
	if !m.heading {
		m.flush()
	}
	m.heading, m.gap = false, false
}

// setext makes the line before a heading.
func (m *markdown) setext(l string, level int) {
	above := m.text.String()
	cut := strings.LastIndex(strings.TrimSuffix(above, "\n"), "\n") + 1
	title, first, name := above[cut:], m.first, m.previous
	m.text.Reset()
	m.text.WriteString(above[:cut])
	m.flush()
	m.enter(level, name)
	m.text.WriteString(title + l)
	m.first = first + strings.Count(above[:cut], "\n")
	m.heading, m.previous = true, ""
}

func (m *markdown) enter(level int, text string) {
	for n := len(m.headings); n > 0 && m.headings[n-1].level >= level; n-- {
		m.headings = m.headings[:n-1]
	}
	m.headings = append(m.headings, heading{level, short(text)})
	if m.title == "" {
		m.title = short(text)
	}
}

func (m *markdown) flush() {
	if m.text.Len() > 0 {
		m.blocks = append(m.blocks, block{context: names(m.headings), text: m.text.String(), line: m.first, code: m.code})
	}
	m.text.Reset()
	m.code, m.gap, m.heading, m.previous = false, false, false, ""
}

func names(headings []heading) []string {
	var texts []string
	for _, h := range headings {
		texts = append(texts, h.text)
	}
	return texts
}

// longest is how long a heading may be, in bytes.
const longest = 200

// short is a text in one line, as long as a heading may be.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}

// atx reads "## Heading ##".
func atx(l string) (level int, text string) {
	l = indented(l)
	rest := strings.TrimLeft(l, "#")
	level = len(l) - len(rest)
	if level == 0 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	rest = strings.TrimSpace(rest)
	if cut := strings.TrimRight(rest, "#"); cut == "" || strings.HasSuffix(cut, " ") {
		rest = strings.TrimSpace(cut)
	}
	return level, rest
}

// underline is the level of the heading that a line of "=" or "-" makes of the one above.
func underline(l string) int {
	l = indented(l)
	switch {
	case l != "" && strings.Trim(l, "=") == "":
		return 1
	case len(l) > 1 && strings.Trim(l, "-") == "":
		return 2
	}
	return 0
}

// indented takes away up to three spaces; four make code.
func indented(l string) string {
	for range 3 {
		l = strings.TrimPrefix(l, " ")
	}
	return l
}

// opens returns the fence that a line opens: three or more "`" or "~".
func opens(l string) string {
	l = strings.TrimLeft(l, " ") // deeper than three in lists
	for _, c := range []string{"`", "~"} {
		n := len(l) - len(strings.TrimLeft(l, c))
		if n >= 3 && (c == "~" || !strings.Contains(l[n:], "`")) {
			return strings.Repeat(c, n)
		}
	}
	return ""
}

func closes(l, fence string) bool {
	l = strings.TrimLeft(l, " ")
	return strings.HasPrefix(l, fence) && strings.Trim(l, fence[:1]) == ""
}

// frontMatter takes away what is between lines of "---" at the beginning, but for a title.
func frontMatter(text string) (title, rest string, line int) {
	body, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text, 1
	}
	head, rest, ok := strings.Cut(body, "\n---\n")
	if !ok || strings.Contains(head, "\n\n") {
		return "", text, 1
	}
	for l := range strings.SplitSeq(head, "\n") {
		if value, ok := strings.CutPrefix(l, "title:"); ok {
			title = short(strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
	return title, rest, 3 + strings.Count(head, "\n") + 1
}
