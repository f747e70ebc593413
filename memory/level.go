package memory

import (
	"strings"
	"unicode/utf8"
)

// The lengths of what is made of a text where the store has no summaries, in runes.
const (
	abstractRunes = 200
	overviewRunes = 2000
	lineRunes     = 160 // of each paragraph in an overview
)

// AbstractOf is the beginning of a text: its first sentence with words, headings and marks
// of Markdown left out, and no more than 200 runes.
func AbstractOf(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#>*- \t"))
		if line != "" {
			return cut(sentence(line), abstractRunes)
		}
	}
	return ""
}

// sentence is a text up to the first end of a sentence.
func sentence(text string) string {
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		switch r {
		case '。', '！', '？':
			return text[:end]
		case '.', '!', '?':
			if end == len(text) || text[end] == ' ' {
				return text[:end]
			}
		}
	}
	return text
}

// OverviewOf is the headings of a text and the beginning of each of its paragraphs, no more
// than 2000 runes.
func OverviewOf(text string) string {
	var b strings.Builder
	begin := true
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		heading := strings.HasPrefix(line, "#")
		if line != "" && (begin || heading) {
			b.WriteString(cut(line, lineRunes))
			b.WriteByte('\n')
		}
		begin = line == "" || heading
	}
	return strings.TrimSuffix(cut(b.String(), overviewRunes), "\n")
}

// cut shortens a text, visibly.
func cut(text string, runes int) string {
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	n := 0
	for i := range text {
		if n == runes-1 {
			return strings.TrimSpace(text[:i]) + "…"
		}
		n++
	}
	return text
}
