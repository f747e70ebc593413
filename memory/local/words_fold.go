package local

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold gives a word the form in which same words are equal: without case, accents, and
// other ways of writing the same rune (NFKC).
func fold(text string) string {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf {
			return foldRunes(text)
		}
	}
	return strings.ToLower(text)
}

// foldRunes leaves out accents of Latin, Greek and Cyrillic letters only: in other scripts
// marks make other words. What a rune stands for may have spaces in it, which go as well.
func foldRunes(text string) string {
	text = norm.NFKD.String(cases.Fold().String(text))
	text = strings.Map(func(r rune) rune {
		if 0x300 <= r && r <= 0x36f || kindOf(r) == other && r != '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
	return norm.NFC.String(text)
}
