package graph

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/openrath-go/rath/session"
)

// WriteMermaid writes the graph as a Mermaid flowchart, parents above their children.
// Mermaid itself refuses more than some hundred edges, unless it is told otherwise.
func (g *Graph) WriteMermaid(w io.Writer, opts *Options) error {
	c := g.captions(opts)
	return write(w, func(out *bufio.Writer) error {
		out.WriteString("flowchart TB\n")
		for i := range g.heads {
			h, absent := &g.heads[i], g.absent.has(int32(i))
			fmt.Fprintf(out, "  n%d[\"%s\"]%s\n", i, quoteMermaid(c.lines(h, absent)), c.classMermaid(h, absent))
		}
		for i := range g.heads {
			for _, l := range g.parents(int32(i)) {
				fmt.Fprintf(out, "  n%d %s n%d\n", l.node, arrowMermaid(l), i)
			}
		}
		out.WriteString("  classDef absent stroke-dasharray: 4 3\n  classDef marked stroke-width: 4px\n")
		return nil
	})
}

func (c *captions) classMermaid(h *session.Head, absent bool) string {
	switch {
	case !h.ID.IsZero() && h.ID == c.Mark:
		return ":::marked"
	case absent:
		return ":::absent"
	}
	return ""
}

func arrowMermaid(l link) string {
	switch {
	case l.elided:
		return "-. … .->"
	case l.role == session.RolePrompt:
		return "-.->"
	case l.role == session.RoleBranch:
		return "==>"
	}
	return "-->"
}

// quoteMermaid writes as a character code all but what is harmless for certain: a label
// may hold Markdown, HTML, formulas and directives.
func quoteMermaid(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString("<br/>")
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune(" -./,", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
