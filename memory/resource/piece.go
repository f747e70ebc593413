package resource

import (
	"strings"
	"unicode"

	"github.com/openrath-go/rath/session"
)

// Tokens estimates how many tokens a text has: see [session.Tokens].
func Tokens(text string) int { return session.Tokens(text) }

// cost is in quarters of a token. Costs of parts add up to that of the whole.
func cost(text string) (quarters int) { return session.TokenQuarters(text) }

// cut makes the blocks of a document pieces of at most so many tokens. Each repeats the end
// of the piece before, unless a new section begins with it.
func cut(blocks []block, limit, overlap int) []Piece {
	c := &cutter{limit: 4 * limit, overlap: 4 * overlap}
	for _, b := range blocks {
		c.add(b)
	}
	c.flush()
	return c.pieces
}

// cutter fills one piece after the other.
type cutter struct {
	limit, overlap int // quarters of a token

	pieces  []Piece
	text    strings.Builder
	cost    int
	context []string
	line    int
	repeats int  // bytes of the text that were in the piece before
	fresh   bool // there is more in the text than that
	code    bool
}

// separator is the longest space between what is repeated and what is new.
const separator = len("\n\n")

func (c *cutter) add(b block) {
	if strings.TrimSpace(b.text) == "" {
		return
	}
	n := cost(b.text)
	c.turn(b.context, n)
	c.code = b.code
	if c.cost+n > c.limit && c.cost > c.limit/2 {
		c.next()
	}
	if c.cost+n <= c.limit {
		c.put(b.text, n, b.line)
		return
	}
	line := b.line
	for _, part := range split(b.text, c.limit-c.overlap-separator, b.code) {
		n := cost(part)
		if c.cost+n > c.limit {
			c.next()
		}
		c.put(part, n, line)
		if line > 0 {
			line += strings.Count(part, "\n")
		}
	}
}

// turn begins a section. A small piece goes on into one beside or below its own, if all of
// what comes fits in, and is under the headings that both have.
func (c *cutter) turn(context []string, size int) {
	n := common(c.context, context)
	same := n == len(c.context) && n == len(context)
	if c.fresh && !same && (n == 0 || c.cost > c.limit/4 || c.cost+size > c.limit) {
		c.flush()
	}
	switch {
	case !c.fresh && !same:
		c.reset()
		c.context = context
	case !same:
		c.context = context[:n]
	}
}

func common(a, b []string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func (c *cutter) put(text string, n, line int) {
	if !c.fresh {
		c.line, c.fresh = line, true
	}
	c.text.WriteString(text)
	c.cost += n
}

// next ends the piece and begins one that repeats its end.
func (c *cutter) next() {
	space := c.space()
	c.flush()
	if len(c.pieces) == 0 {
		return
	}
	end := tail(c.pieces[len(c.pieces)-1].Text, c.overlap, c.code)
	if end == "" {
		return
	}
	c.repeats = len(end)
	c.text.WriteString(end + space)
	c.cost = cost(end) + len(space)
}

// space is what the piece ends with, made short.
func (c *cutter) space() string {
	text := c.text.String()
	space := text[len(strings.TrimRightFunc(text, unicode.IsSpace)):]
	switch n := strings.Count(space, "\n"); {
	case n > 1:
		return "\n\n"
	case n == 1:
		return "\n"
	case space != "":
		return " "
	}
	return ""
}

// flush ends the piece, if there is anything new in it.
func (c *cutter) flush() {
	text := strings.TrimRightFunc(c.text.String(), unicode.IsSpace)
	if c.fresh && len(text) > c.repeats {
		c.pieces = append(c.pieces, Piece{Context: strings.Join(c.context, " > "), Text: text, Line: c.line, Overlap: c.repeats})
	}
	c.reset()
}

func (c *cutter) reset() {
	c.text.Reset()
	c.cost, c.line, c.repeats, c.fresh = 0, 0, 0, false
}
