package resource

import (
	"regexp"
	"strings"
)

// readCode makes blocks of what stands between empty lines, and goes on with what follows
// until something is declared. Blocks are under the file's name and the declarations that
// they are in.
func readCode(name, text string) []block {
	c := &code{name: name}
	at, gap := 1, false
	for l := range strings.SplitAfterSeq(text, "\n") {
		bare := strings.TrimSpace(l)
		if gap && bare != "" {
			c.flush()
		}
		gap = bare == ""
		c.line(l, bare, at)
		at++
	}
	c.flush()
	return c.blocks
}

// code reads line by line.
type code struct {
	name   string
	blocks []block
	open   []declaration // that the line is in

	text    strings.Builder
	first   int
	context []string // of the text: where its first declaration is, or it itself
	named   bool     // by a declaration in it
}

// deepest is how many declarations in each other are told.
const deepest = 8

type declaration struct {
	indent int
	text   string
}

func (c *code) line(l, bare string, at int) {
	if bare != "" && strings.Trim(bare, "})];,") != "" {
		c.enter(l, bare)
	}
	if c.text.Len() == 0 {
		c.first = at
	}
	c.text.WriteString(l)
}

// enter leaves the declarations that a line is not in, and enters the one that it is.
func (c *code) enter(l, bare string) {
	indent := len(l) - len(strings.TrimLeft(l, " \t"))
	for n := len(c.open); n > 0 && c.open[n-1].indent >= indent; n-- {
		c.open = c.open[:n-1]
	}
	declared := declares(bare, indent)
	if declared != "" && len(c.open) < deepest {
		c.open = append(c.open, declaration{indent, declared})
	}
	if c.context == nil || declared != "" && !c.named {
		c.context = c.where()
		c.named = declared != ""
	}
}

func (c *code) where() []string {
	context := []string{c.name}
	for _, d := range c.open {
		context = append(context, d.text)
	}
	return context
}

func (c *code) flush() {
	if c.text.Len() > 0 {
		context := c.context
		if context == nil {
			context = c.where()
		}
		c.blocks = append(c.blocks, block{context: context, text: c.text.String(), line: c.first, code: true})
	}
	c.text.Reset()
	c.context, c.named = nil, false
}

var (
	// keyword finds declarations in most languages: words that may stand before, and one
	// that says what is declared.
	keyword = regexp.MustCompile(`^(?:@?(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|abstract|async|` +
		`open|override|sealed|partial|data|inline|virtual|unsafe|const|extern|declare)\s+)*` +
		`(?:func|function\*?|def|defp|defmodule|class|interface|struct|enum|trait|impl|type|module|namespace|fn|fun|sub|object|protocol|` +
		`extension|message|service|contract|macro_rules!|CREATE\s+(?:TABLE|VIEW|INDEX|FUNCTION))\b[^\n]*`)
	// prototype finds functions of the C family: a type, a name and parameters.
	prototype = regexp.MustCompile(`^[A-Za-z_][\w:<>,*&\[\]\s]*[\s*&][~\w:]+\s*\([^;]*$`)
	// statement finds what looks like one but is not.
	statement = regexp.MustCompile(`^(?:if|for|while|switch|return|else|case|do|catch|throw|new|go|defer|await|yield|print|echo|using|assert|del|raise|in|not)\b`)
)

// declares returns what a line declares, without its body, or nothing.
func declares(bare string, indent int) string {
	switch {
	case len(bare) > 500:
		return ""
	case keyword.MatchString(bare):
	case indent <= 8 && !statement.MatchString(bare) && !strings.Contains(bare, "=") && prototype.MatchString(bare):
	default:
		return ""
	}
	return short(strings.TrimRight(bare, "{:( \t"))
}
