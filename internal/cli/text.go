package cli

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable makes visible, as an escape such as \u202e, whatever in a text of somebody
// else's could control the terminal or deceive the eye: control characters, overrides of
// the writing direction, and all else that prints nothing.
func printable(text string) string { return visible(text, "\n\t") }

// prose is printable for what a model writes: joiners, which many scripts and emoji
// need, stay as they are.
func prose(text string) string {
	return visible(strings.ReplaceAll(text, "\r\n", "\n"), "\n\t\u200c\u200d")
}

func visible(text, allowed string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[0]), 16))
		case strings.ContainsRune(allowed, r) || shows(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		text = text[n:]
	}
	return b.String()
}

// shows reports whether a character leaves ink or a space.
func shows(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// oneLine shortens a text to one line of at most n bytes.
func oneLine(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > n {
		text = strings.ToValidUTF8(text[:n], "") + "…"
	}
	return text
}
