package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// textOf is a word as the command gets it, as far as that can be told.
func textOf(w *syntax.Word) string {
	switch {
	case w == nil:
		return ""
	case w.Lit() == "[": // the command, and no glob
		return "["
	case braced(w):
		return string(unseen)
	}
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(bare(p.Value))
		case *syntax.SglQuoted:
			b.WriteString(quoted(p.Value, p.Dollar))
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok {
					b.WriteRune(unseen)
					continue
				}
				b.WriteString(unescape(lit.Value, "$`\"\\\n"))
			}
		default:
			b.WriteRune(unseen)
		}
	}
	return b.String()
}

// braced reports whether bash could make several words of one: {rm,"x"}.
func braced(w *syntax.Word) bool {
	var bare strings.Builder
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			bare.WriteString(lit.Value)
		}
	}
	text := bare.String()
	return strings.Contains(text, "{") && (strings.Contains(text, ",") || strings.Contains(text, ".."))
}

func quoted(text string, dollar bool) string {
	if dollar && strings.Contains(text, `\`) {
		return string(unseen)
	}
	return text
}

// bare is unquoted text. Globs and the home directory become what only the shell knows.
func bare(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i < len(text) && text[i] != '\n' {
				b.WriteByte(text[i])
			}
		case '*', '?', '[':
			b.WriteRune(unseen)
		case '~':
			if i > 0 && text[i-1] != ':' && text[i-1] != '=' {
				b.WriteByte(c)
			} else {
				b.WriteRune(unseen)
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescape takes backslashes away in front of certain characters.
func unescape(text, of string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte(of, text[i+1]) >= 0 {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
