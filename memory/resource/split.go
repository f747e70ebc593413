package resource

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openrath-go/rath/session"
)

// ends reports how good a place is to cut at, between two characters.
type ends func(before string, after string) bool

// split cuts a text into parts of at most so much cost, at the ends of lines, sentences or
// words where there are such. The parts in a row are the text.
func split(text string, limit int, code bool) []string {
	levels := []ends{paragraph, sentence, word}
	if code {
		levels = []ends{line, word}
	}
	return splitAt(text, limit, levels)
}

func splitAt(text string, limit int, levels []ends) (parts []string) {
	if cost(text) <= limit {
		return []string{text}
	}
	if len(levels) == 0 {
		return splitRunes(text, limit)
	}
	from := 0
	for i := range text {
		if i > from && levels[0](text[:i], text[i:]) {
			parts = append(parts, splitAt(text[from:i], limit, levels[1:])...)
			from = i
		}
	}
	return append(parts, splitAt(text[from:], limit, levels[1:])...)
}

// splitRunes cuts a text that has no better places.
func splitRunes(text string, limit int) (parts []string) {
	from, sum := 0, 0
	for i, r := range text {
		n := session.RuneQuarters(r)
		if sum+n > limit {
			parts = append(parts, text[from:i])
			from, sum = i, 0
		}
		sum += n
	}
	return append(parts, text[from:])
}

func paragraph(before, after string) bool {
	return strings.HasSuffix(before, "\n\n") && !strings.HasPrefix(after, "\n")
}

func line(before, after string) bool { return strings.HasSuffix(before, "\n") && after != "" }

// sentence: after its sign and the space that follows, or right after a sign of a script
// that has no spaces.
func sentence(before, after string) bool {
	if strings.HasPrefix(after, " ") || strings.HasPrefix(after, "\n") {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	if strings.ContainsRune("。！？；…", last) {
		next, _ := utf8.DecodeRuneInString(after)
		return !strings.ContainsRune("。！？；…”’」』）", next)
	}
	if last != ' ' && last != '\n' {
		return false
	}
	word := strings.TrimRight(tailBytes(before, 80), " \n\"')]}”’»")
	return strings.HasSuffix(word, ".") || strings.HasSuffix(word, "!") || strings.HasSuffix(word, "?") || strings.HasSuffix(before, "\n\n")
}

// tailBytes bounds how far back one looks.
func tailBytes(s string, n int) string { return s[max(0, len(s)-n):] }

func word(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return unicode.IsSpace(last) && !unicode.IsSpace(next)
}

// tail is the end of a text of at most so much cost, from the beginning of a sentence (or a
// line of code) if there is one in the last of it, else of a word.
func tail(text string, limit int, code bool) string {
	from, sum := len(text), 0
	for from > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:from])
		if sum += session.RuneQuarters(r); sum > limit {
			break
		}
		from -= size
	}
	levels := []ends{sentence, word}
	if code {
		levels = []ends{line, word}
	}
	for _, level := range levels {
		for i := range text[from:] {
			if at := from + i; at > 0 && level(text[:at], text[at:]) {
				return text[at:]
			}
		}
	}
	if r, _ := utf8.DecodeRuneInString(text[from:]); from < len(text) && session.Unspaced(r) {
		return text[from:]
	}
	return "" // the rest of a word says nothing
}
