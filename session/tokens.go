package session

import (
	"strings"
	"unicode"
)

// tokensOfMedia is what an image, or a document that is no text, is taken for.
const tokensOfMedia = 1_000

// Tokens estimates how many tokens a text has: one for a character of a script that is
// written without spaces between words, and one for four bytes of any other. Providers count
// each in their own way.
func Tokens(text string) int { return (TokenQuarters(text) + 3) / 4 }

// Tokens estimates how many tokens a transcript has: those of its texts and calls, and 1,000
// for an image. It reads all of it.
func (t Transcript) Tokens() (n int) {
	for _, c := range t.All() {
		for p := range c.Parts() {
			switch {
			case p.Kind == PartFile && strings.HasPrefix(p.MIME, "text/"):
				n += Tokens(p.Data)
			case p.Kind == PartFile || p.Kind == PartImage:
				n += tokensOfMedia
			default:
				n += Tokens(p.Text) + Tokens(p.Extra)
			}
		}
		for call := range c.Calls() {
			n += Tokens(call.Name) + Tokens(call.Arguments)
		}
	}
	return n
}

// TokenQuarters is the same estimate in quarters of a token, of which those of parts add up
// to that of the whole.
func TokenQuarters(text string) (quarters int) {
	for _, r := range text {
		quarters += RuneQuarters(r)
	}
	return quarters
}

// RuneQuarters is the estimate for one character.
func RuneQuarters(r rune) int {
	switch {
	case r < 0x80:
		return 1
	case r < 0x800:
		return 2
	case Unspaced(r) || r >= 0x10000:
		return 4
	}
	return 3
}

// Unspaced reports whether a character is of a script without spaces between words.
func Unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar) || r >= 0x3000 && r < 0x3040 || r >= 0xff00 && r < 0xfff0
}
