package local

import (
	"strings"
	"unicode/utf8"
)

// phrase is what a query looks for as one: a word, the beginning of one, or several that
// follow each other.
type phrase struct {
	words  []string
	prefix bool // the last word may go on
	must   bool // it was in quotes: nothing is found without it
	times  int  // it is in the query
}

type phraseKey struct {
	match string
	must  bool
}

// maxPhrases is how many different words of a query count, those at its end: a long
// message has its question there.
const maxPhrases = 128

// parse reads what people write into a search field. Whatever it is, it is a query.
func (a analyzer) parse(text string) []phrase {
	var all []phrase
	index := map[phraseKey]int{}
	add := func(p phrase) {
		key := phraseKey{p.match(), p.must}
		if i, ok := index[key]; ok {
			all[i].times++
			return
		}
		index[key] = len(all)
		all = append(all, p)
	}
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			a.quoted(part, add)
		} else {
			a.loose(part, add)
		}
	}
	return all[max(0, len(all)-maxPhrases):]
}

// quoted adds the words of a text, as a phrase that must be there and each by itself, for
// the rank.
func (a analyzer) quoted(text string, add func(phrase)) {
	var words []string
	a.each(text, func(w word) {
		if !w.part {
			words = append(words, w.text)
		}
	})
	if len(words) == 0 {
		return
	}
	a.loose(text, add)
	add(phrase{words: words, prefix: beginsPairs(words[len(words)-1]), must: true, times: 1})
}

// loose adds the words of a text.
func (a analyzer) loose(text string, add func(phrase)) {
	for _, field := range strings.Fields(text) {
		words := a.words(field)
		star := strings.HasSuffix(field, "*")
		for i, w := range words {
			last := i == len(words)-1
			if last && i > 0 && beginsPairs(w) {
				continue // the pair before has it
			}
			add(phrase{words: []string{w}, prefix: last && star || beginsPairs(w), times: 1})
		}
	}
}

// words are those of a text.
func (a analyzer) words(text string) (words []string) {
	a.each(text, func(w word) { words = append(words, w.text) })
	return words
}

// beginsPairs reports whether a word is a single rune of a script without spaces, which
// notes have at the beginning of pairs.
func beginsPairs(w string) bool {
	r, size := utf8.DecodeRuneInString(w)
	return size == len(w) && kindOf(r) == dense
}

// match is the phrase in the language of FTS5. Words have no quotes in them.
func (p phrase) match() string {
	m := `"` + strings.Join(p.words, " ") + `"`
	if p.prefix {
		m += "*"
	}
	return m
}
