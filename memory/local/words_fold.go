package local

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
	"unicode/utf8"
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

func foldRunes(text string) string { return strings.ToLower(text) }

// stems remembers the stems of English words: to find one takes much longer than to read
// the word. Each word has one place, where it takes that of another.
type stems [1 << 14]atomic.Pointer[stemmed]

type stemmed struct{ word, stem string }

var stemSeed = maphash.MakeSeed()

// of gives a word's stem. Words that are not all of letters stay.
func (s *stems) of(word string) string {
	place := &s[maphash.String(stemSeed, word)%uint64(len(s))]
	if known := place.Load(); known != nil && known.word == word {
		return known.stem
	}
	for i := range len(word) {
		if c := word[i]; c < 'a' || c > 'z' {
			return word
		}
	}
	known := &stemmed{strings.Clone(word), strings.Clone(word)}
	place.Store(known)
	return known.stem
}
