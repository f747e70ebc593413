package graph

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/openrath-go/rath/session"
)

// WriteDOT writes the graph for Graphviz, parents above their children.
func (g *Graph) WriteDOT(w io.Writer, opts *Options) error {
	c := g.captions(opts)
	return write(w, func(out *bufio.Writer) error {
		out.WriteString("digraph lineage {\n" +
			"  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11]\n" +
			"  edge [color=\"#57606a\", arrowsize=0.7]\n")
		for i := range g.heads {
			h, absent := &g.heads[i], g.absent.has(int32(i))
			fmt.Fprintf(out, "  %s [label=%s, tooltip=%s%s]\n", quoteDOT(h.ID.String()),
				quoteDOT(c.lines(h, absent)), quoteDOT(c.details(h, absent)), c.nodeDOT(h, absent))
		}
		for i := range int32(len(g.heads)) {
			for _, l := range g.parents(i) {
				fmt.Fprintf(out, "  %s -> %s%s\n", quoteDOT(g.heads[l.node].ID.String()), quoteDOT(g.heads[i].ID.String()), edgeDOT(l))
			}
		}
		out.WriteString("}\n")
		return nil
	})
}

func (c *captions) nodeDOT(h *session.Head, absent bool) string {
	switch {
	case !h.ID.IsZero() && h.ID == c.Mark:
		return ", penwidth=3"
	case absent:
		return ", style=\"rounded,dashed\""
	}
	return ""
}

func edgeDOT(l link) string {
	switch {
	case l.elided:
		return " [style=dotted]"
	case l.role == session.RolePrompt:
		return " [style=dashed]"
	case l.role == session.RoleBranch:
		return " [style=bold]"
	}
	return ""
}

// lines returns a caption for a box, three lines at most.
func (c *captions) lines(h *session.Head, absent bool) string {
	cells := c.cells(h, absent)
	lines := []string{cells[columnID] + " " + cells[columnOp]}
	if path := cells[columnPath]; path != "" {
		lines = append(lines, shorten(path, maxPath))
	}
	if !absent {
		numbers := cells[columnChunks]
		for _, n := range []string{cells[columnTokens], cells[columnCost]} {
			if n != "" {
				numbers += ", " + n
			}
		}
		lines = append(lines, numbers)
	}
	return strings.Join(lines, "\n")
}

// maxPath is how many characters of a path are drawn; tooltips have all of it.
const maxPath = 48

var escapeDOT = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// quoteDOT makes a quoted string in which nothing but line ends has a meaning. HTML
// entities, which Graphviz reads in labels, do not form either.
func quoteDOT(text string) string {
	return `"` + escapeDOT.Replace(strings.ReplaceAll(text, "&", "&amp;")) + `"`
}
