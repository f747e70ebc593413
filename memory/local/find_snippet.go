package local

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const defaultSnippet = 400 // runes

// snippet is the part of a text where most of what was looked for stands, of as many
// runes as the query says. What is left out at its ends is marked with an ellipsis.
func (s *search) snippet(text string) (snippet string, whole bool) {
	size := s.query.Snippet
	if size <= 0 {
		size = defaultSnippet
	}
	if len(text) <= size || utf8.RuneCountInString(text) <= size {
		return text, true
	}
	start := s.best(text, size)
	end := forward(text, start, size)
	if end == len(text) {
		start = back(text, end, size)
	}
	return cut(text, start, end), false
}

// best is where the window begins that has the words that weigh most, each counted once,
// and a little of what comes before them.
func (s *search) best(text string, size int) (start int) {
	if s.scorer == nil {
		return 0
	}
	type found struct{ term, start, end int }
	var window []found
	in := make([]int, len(s.scorer.terms)) // how often the window has each
	var weight, most float64
	s.scorer.find(text, func(term int, w word) {
		window = append(window, found{term, w.start, w.end})
		if in[term]++; in[term] == 1 {
			weight += s.scorer.terms[term].weight
		}
		// A rune has at most four bytes: what is further away is surely outside.
		for w.end-window[0].start > size && utf8.RuneCountInString(text[window[0].start:w.end]) > size*3/4 {
			if in[window[0].term]--; in[window[0].term] == 0 {
				weight -= s.scorer.terms[window[0].term].weight
			}
			window = window[1:]
			if len(window) == 0 {
				return
			}
		}
		if weight > most*(1+1e-9) {
			most, start = weight, window[0].start
		}
	})
	return back(text, start, size/4)
}

// back is n runes before a place in a text, or its beginning.
func back(text string, i, n int) int {
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
	}
	return i
}

// forward is n runes after a place in a text, or its end.
func forward(text string, i, n int) int {
	for ; n > 0 && i < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return i
}

// maxTorn is how much is left out at an end, in bytes, so that no word is torn.
const maxTorn = 24

func cut(text string, start, end int) string {
	part := text[start:end]
	if start > 0 {
		if i := strings.IndexFunc(part, unicode.IsSpace); i >= 0 && i < min(maxTorn, len(part)/4) {
			part = part[i:]
		} else {
			_, size := utf8.DecodeRuneInString(part)
			part = part[size:] // makes room for the mark
		}
	}
	if end < len(text) {
		if i := strings.LastIndexFunc(part, unicode.IsSpace); i > max(len(part)-maxTorn, len(part)*3/4) {
			part = part[:i]
		} else {
			_, size := utf8.DecodeLastRuneInString(part)
			part = part[:len(part)-size]
		}
	}
	part = strings.TrimSpace(part)
	if start > 0 {
		part = "…" + part
	}
	if end < len(text) {
		part += "…"
	}
	return part
}
