package local

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// analyzer turns texts into the words by which they are found. Notes and queries pass
// through the same one.
type analyzer struct {
	stems *stems // that English words are reduced to; nil: words stay
}

// maxWord is how much of a word counts, in bytes: what is longer is no word of a language.
const maxWord = 64

// word is a word of a text, and where it stands there, in bytes.
type word struct {
	text       string
	start, end int
	part       bool // of an identifier that was given before
}

// each calls f for every word of a text, in order. Identifiers give themselves and their
// parts: "HTTPServer_v1.2" gives httpserver_v1.2, http, server, v1 and 2. Scripts that
// put no spaces between words give pairs of runes, and the last rune alone, so that each
// rune begins a word.
func (a analyzer) each(text string, f func(word)) {
	s := splitter{analyzer: a, text: text, emit: f}
	for i := 0; i < len(text); {
		r, size := runeAt(text, i)
		switch kindOf(r) {
		case other:
			i += size
		case dense:
			i = s.dense(i)
		default:
			i = s.spaced(i)
		}
	}
}

// kind is how a rune makes words.
type kind uint8

const (
	other  kind = iota // stands between words
	spaced             // makes words that spaces are put between
	dense              // is of a script without spaces
)

func kindOf(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		return asciiKinds[r]
	case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
		return other
	case r >= 0x0e00 && (unicode.In(r, denseScripts...) || r == 'ー' || r == 'ｰ'):
		return dense
	}
	return spaced
}

var denseScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

var asciiKinds = func() (kinds [utf8.RuneSelf]kind) {
	for r := range rune(utf8.RuneSelf) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			kinds[r] = spaced
		}
	}
	return kinds
}()

func runeAt(text string, i int) (rune, int) {
	if text[i] < utf8.RuneSelf {
		return rune(text[i]), 1
	}
	return utf8.DecodeRuneInString(text[i:])
}

// splitter is one pass over a text.
type splitter struct {
	analyzer
	text string
	emit func(word)
	cuts []int // where the parts of an identifier begin
}

// spaced gives the word that begins at i, and returns its end.
func (s *splitter) spaced(i int) int {
	if end := plain(s.text, i); end > i {
		s.give(i, end, false)
		return end
	}
	end := s.identifier(i)
	if len(s.cuts) == 0 {
		return end // underscores
	}
	s.give(s.cuts[0], s.trim(s.cuts[0], end), false)
	if len(s.cuts) == 1 {
		return end
	}
	for n, cut := range s.cuts {
		next := end
		if n+1 < len(s.cuts) {
			next = s.cuts[n+1]
		}
		s.give(cut, s.trim(cut, next), true)
	}
	return end
}

// plain finds the end of a word that is no identifier, as most are: the first letter may
// be a capital. It gives i if it cannot tell.
func plain(text string, i int) int {
	end := i + 1
	for end < len(text) && ('a' <= text[end] && text[end] <= 'z' || '0' <= text[end] && text[end] <= '9') {
		end++
	}
	if text[i] >= utf8.RuneSelf || text[i] == '_' {
		return i
	}
	if end < len(text) && (text[end] >= utf8.RuneSelf || asciiKinds[text[end]] == spaced) {
		return i
	}
	if end+1 < len(text) && text[end] == '.' && (text[end+1] >= utf8.RuneSelf || asciiKinds[text[end+1]] == spaced) {
		return i
	}
	return end
}

// identifier finds the end of the word that begins at i, and where its parts begin. A dot
// joins what is on both its sides.
func (s *splitter) identifier(i int) int {
	s.cuts = s.cuts[:0]
	var last, before rune // the runes before, in this part
	for i < len(s.text) {
		r, size := runeAt(s.text, i)
		if r == '.' && i+1 < len(s.text) && last != 0 {
			if next, _ := runeAt(s.text, i+1); next != '_' && kindOf(next) == spaced {
				last, before = 0, 0
				i++
				continue
			}
		}
		if kindOf(r) != spaced {
			break
		}
		switch {
		case r == '_':
			last, before = 0, 0
		case last == 0, unicode.IsLower(last) && unicode.IsUpper(r):
			s.cuts = append(s.cuts, i)
			last, before = r, 0
		case unicode.IsUpper(before) && unicode.IsUpper(last) && unicode.IsLower(r) && s.cuts[len(s.cuts)-1] < i-utf8.RuneLen(last):
			s.cuts = append(s.cuts, i-utf8.RuneLen(last))
			last, before = r, last
		default:
			last, before = r, last
		}
		i += size
	}
	return i
}

// trim leaves out what joins a part to the next one.
func (s *splitter) trim(start, end int) int {
	return start + len(strings.TrimRight(s.text[start:end], "_."))
}

// give passes on a word in the form in which it is looked for.
func (s *splitter) give(start, end int, part bool) {
	text := fold(s.text[start:end])
	if len(text) > maxWord {
		text = strings.ToValidUTF8(text[:maxWord], "")
	}
	if s.stems != nil {
		text = s.stems.of(text)
	}
	if text != "" {
		s.emit(word{text, start, end, part})
	}
}

// dense gives the pairs of runes of the run that begins at i, and returns its end.
func (s *splitter) dense(i int) int {
	start := i
	for i < len(s.text) {
		r, size := runeAt(s.text, i)
		if kindOf(r) != dense {
			break
		}
		i += size
	}
	run := fold(s.text[start:i])
	exact := run == s.text[start:i] // else nothing is known of where its runes stand
	for at := 0; at < len(run); {
		_, first := utf8.DecodeRuneInString(run[at:])
		_, second := utf8.DecodeRuneInString(run[at+first:])
		w := word{run[at : at+first+second], start, i, false}
		if exact {
			w.start, w.end = start+at, start+at+first+second
		}
		s.emit(w)
		at += first
	}
	return i
}
