package local

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/kljensen/snowball/english"
)

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
	known := &stemmed{strings.Clone(word), english.Stem(word, true)}
	place.Store(known)
	return known.stem
}
