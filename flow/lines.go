package flow

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/session"
)

// DefaultWindow is how many tokens of a conversation a model is shown at once by a
// [Selector] or a [Compressor] that does not say otherwise.
const DefaultWindow = 8000

// line shows a chunk to a model that takes no part in the conversation. It is written as
// JSON, so that no text in it can look like another line.
type line struct {
	From     session.Kind `json:"from"`
	Tool     string       `json:"tool,omitempty"`
	Outcome  string       `json:"outcome,omitempty"`
	Text     string       `json:"text,omitempty"` // without reasoning, and without what is from memory
	Calls    []lineCall   `json:"calls,omitempty"`
	Attached []string     `json:"attached,omitempty"`
}

type lineCall struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

// lineOf is a chunk as a line of at most so many tokens, empty if there is nothing in it.
func lineOf(c session.Chunk, most int) string {
	for limit := most; limit > 0; limit /= 2 { // escapes make texts longer
		l := cutLine(c, limit)
		if l.Text == "" && l.Tool == "" && len(l.Calls)+len(l.Attached) == 0 {
			return ""
		}
		if text := encodeLine(l); session.Tokens(text) <= most {
			return text
		}
	}
	return encodeLine(line{From: c.Kind(), Text: ellipsis})
}

// cutLine is a chunk whose texts have at most so many tokens each.
func cutLine(c session.Chunk, limit int) line {
	l := line{From: c.Kind(), Text: clip(strings.TrimSpace(memory.Unmarked(c)), limit)}
	if c.Kind() == session.KindToolResult {
		l.Tool, l.Outcome = clip(c.Answer().Tool, limit), c.Answer().Outcome.String()
	}
	for call := range c.Calls() {
		l.Calls = append(l.Calls, lineCall{clip(call.Name, limit), clip(call.Arguments, limit)})
	}
	for p := range c.Parts() {
		if p.Kind == session.PartImage || p.Kind == session.PartFile {
			l.Attached = append(l.Attached, clip(strings.TrimSpace(p.Kind.String()+" "+p.Name), limit))
		}
	}
	return l
}

func encodeLine(v any) string {
	data, _ := effect.Encode(v) // texts: it always encodes
	return string(data) + "\n"
}

// lineTokens is the longest line where so many tokens have room.
func lineTokens(tokens int) int { return tokens / 4 }

// newest are the last lines of a conversation that have room in so many tokens, and how
// many chunks come before them.
func newest(t session.Transcript, tokens int) (lines []string, before int) {
	most := lineTokens(tokens)
	for before = t.Len(); before > 0; before-- {
		l := lineOf(t.At(before-1), most)
		if tokens -= session.Tokens(l); tokens < 0 {
			break
		}
		lines = append(lines, l)
	}
	slices.Reverse(lines)
	return lines, before
}

const ellipsis = "[...]"

// clip cuts the middle out of a text that has more than so many tokens.
func clip(text string, tokens int) string {
	if session.Tokens(text) <= tokens {
		return text
	}
	head, tail := 0, len(text)
	room := 2 * tokens // in quarters, for each side
	for i, r := range text {
		if room -= session.RuneQuarters(r); room < 0 {
			head = i
			break
		}
	}
	for room = 2 * tokens; ; {
		r, n := utf8.DecodeLastRuneInString(text[:tail])
		if room -= session.RuneQuarters(r); room < 0 {
			break
		}
		tail -= n
	}
	return text[:head] + ellipsis + text[tail:]
}
