package graph

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/openrath-go/rath/session"
)

// Measures of the drawing, in pixels.
const (
	svgRow    = 26
	svgLane   = 18
	svgMargin = 16
	svgDot    = 5
	svgChar   = 7.85 // the advance of the font's characters, with something to spare
	svgGap    = 22   // between columns
)

// svgStyle applies to drawings alone, wherever they are embedded. Colors are those of
// the page but for the lanes', which can be told from light and dark.
const svgStyle = `
.rath-graph { font: 13px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.rath-graph text { fill: currentColor; white-space: pre; }
.rath-graph .op { font-weight: 600; }
.rath-graph .quiet { opacity: .65; }
.rath-graph .hit { fill: currentColor; fill-opacity: 0; }
.rath-graph .row:hover .hit, .rath-graph .row:target .hit { fill-opacity: .07; }
.rath-graph .marked .hit { fill-opacity: .07; }
.rath-graph .marked text { font-weight: 700; }
.rath-graph .edge { fill: none; stroke-width: 2; }
.rath-graph .prompt { stroke-dasharray: 5 3; stroke-width: 1.5; }
.rath-graph .branch { stroke-width: 3.5; }
.rath-graph .other { stroke-dasharray: 9 3; }
.rath-graph .elided { stroke-dasharray: .1 5; stroke-linecap: round; stroke-width: 3; }
.rath-graph .ring { fill: none; stroke-width: 2; }
.rath-graph .hollow { fill: none; stroke-width: 2; stroke-dasharray: 3 2; }
.rath-graph .l0 { stroke: #2f81f7; } .rath-graph .n0 { fill: #2f81f7; }
.rath-graph .l1 { stroke: #d9730d; } .rath-graph .n1 { fill: #d9730d; }
.rath-graph .l2 { stroke: #2da44e; } .rath-graph .n2 { fill: #2da44e; }
.rath-graph .l3 { stroke: #bf4bc4; } .rath-graph .n3 { fill: #bf4bc4; }
.rath-graph .l4 { stroke: #cf4a4a; } .rath-graph .n4 { fill: #cf4a4a; }
.rath-graph .l5 { stroke: #1b9aaa; } .rath-graph .n5 { fill: #1b9aaa; }
`

const svgColors = 6

// WriteSVG draws the graph: a row for each session, the newest first, with all there is
// to say in tooltips. The drawing stands alone, has no scripts, takes the color of the
// text around it, and may be put into an HTML page as it is. A row's element has the id
// "session-" and the session's id.
func (g *Graph) WriteSVG(w io.Writer, opts *Options) error {
	d := &drawing{g: g, c: g.captions(opts), l: g.Layout(), drawn: newBits(len(g.heads))}
	d.measure()
	return write(w, func(out *bufio.Writer) error {
		d.out = out
		fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" class="rath-graph" role="img" aria-label="Lineage of %s" width="%d" height="%d" viewBox="0 0 %[2]d %[3]d">`,
			plural(int64(g.Len()), "session"), d.width, d.height())
		fmt.Fprintf(out, "\n<style>%s</style>\n", svgStyle)
		for _, e := range d.l.Edges {
			d.edge(e)
		}
		for row := range d.l.Rows {
			d.row(row)
		}
		d.legend()
		out.WriteString("</svg>\n")
		return nil
	})
}

type drawing struct {
	g     *Graph
	c     *captions
	l     *Layout
	out   *bufio.Writer
	x     [columns]int // where the columns begin
	width int
	roles []legendEntry
	drawn bits // the rows of parents to which a lane leads already
}

type legendEntry struct{ class, name string }

func (d *drawing) head(row int) *session.Head { return &d.g.heads[len(d.g.heads)-1-row] }

// cells returns what is drawn of a row's columns.
func (d *drawing) cells(row int) [columns]string {
	cells := d.c.cells(d.head(row), d.l.Rows[row].Absent)
	cells[columnPath] = shorten(cells[columnPath], maxPath)
	return cells
}

// measure places the columns: each is as wide as its longest entry.
func (d *drawing) measure() {
	var widest [columns]int
	for row := range d.l.Rows {
		for i, text := range d.cells(row) {
			widest[i] = max(widest[i], advance(text))
		}
	}
	x := 2*svgMargin + max(0, d.l.Lanes-1)*svgLane
	for i, n := range widest {
		d.x[i] = x
		if n > 0 {
			x += int(float64(n)*svgChar) + svgGap
		}
	}
	d.width = x
	seen := map[legendEntry]bool{}
	for _, e := range d.l.Edges {
		entry := roleOf(e)
		if !seen[entry] {
			seen[entry] = true
			d.roles = append(d.roles, entry)
		}
	}
}

func (d *drawing) height() int {
	rows := len(d.l.Rows)
	if len(d.roles) > 1 {
		rows++
	}
	return rows*svgRow + svgMargin
}

// advance is how many cells of the font a text takes: two for each East Asian character.
func advance(text string) int {
	n := utf8.RuneCountInString(text)
	for _, r := range text {
		if r >= 0x2e80 {
			n++
		}
	}
	return n
}

func roleOf(e Edge) legendEntry {
	switch {
	case e.Elided:
		return legendEntry{"elided", "sessions left out"}
	case e.Role == session.RoleInput, e.Role == session.RolePrompt, e.Role == session.RoleBranch:
		return legendEntry{string(e.Role), string(e.Role)}
	}
	return legendEntry{"other", "another role"}
}

func (d *drawing) place(row int) (x, y int) {
	return svgMargin + d.l.Rows[row].Lane*svgLane, svgMargin/2 + row*svgRow + svgRow/2
}

func (d *drawing) color(row int) int { return d.l.Rows[row].Lane % svgColors }

// edge draws a bend from the child to its parent's lane, and then straight down, unless
// an earlier edge to that parent did so.
func (d *drawing) edge(e Edge) {
	x1, y1 := d.place(e.Child)
	x2, y2 := d.place(e.Parent)
	fmt.Fprintf(d.out, `<path class="edge %s l%d" d="M%d %d`, roleOf(e).class, d.edgeColor(e), x1, y1)
	if x1 != x2 {
		y1 += svgRow
		fmt.Fprintf(d.out, "C%d %d %d %d %d %d", x1, y1-svgRow/3, x2, y1-svgRow*2/3, x2, y1)
	}
	if !d.drawn.has(int32(e.Parent)) {
		d.drawn.set(int32(e.Parent))
		if d.l.Rows[e.Parent].Absent {
			y2 -= svgDot
		}
		fmt.Fprintf(d.out, "V%d", y2)
	}
	fmt.Fprintf(d.out, "\"><title>%s</title></path>\n", html.EscapeString(printable(string(e.Role))))
}

// edgeColor is that of the lane that the edge alone is about: a side line's own.
func (d *drawing) edgeColor(e Edge) int {
	if d.l.Rows[e.Child].Lane > d.l.Rows[e.Parent].Lane {
		return d.color(e.Child)
	}
	return d.color(e.Parent)
}

func (d *drawing) row(row int) {
	h, r := d.head(row), d.l.Rows[row]
	x, y := d.place(row)
	marked := r.ID == d.c.Mark && !r.ID.IsZero()
	class := "row"
	if marked {
		class = "row marked"
	}
	fmt.Fprintf(d.out, `<g class="%s" id="session-%s"><title>%s</title>`, class, h.ID, html.EscapeString(d.c.details(h, r.Absent)))
	fmt.Fprintf(d.out, `<rect class="hit" x="0" y="%d" width="%d" height="%d"/>`, y-svgRow/2, d.width, svgRow)
	switch {
	case r.Absent:
		fmt.Fprintf(d.out, `<circle class="hollow l%d" cx="%d" cy="%d" r="%d"/>`, d.color(row), x, y, svgDot)
	case marked:
		fmt.Fprintf(d.out, `<circle class="ring l%d" cx="%d" cy="%d" r="%d"/>`, d.color(row), x, y, svgDot+3)
		fallthrough
	default:
		fmt.Fprintf(d.out, `<circle class="n%d" cx="%d" cy="%d" r="%d"/>`, d.color(row), x, y, svgDot)
	}
	d.text(y, d.cells(row))
	d.out.WriteString("</g>\n")
}

func (d *drawing) text(y int, cells [columns]string) {
	fmt.Fprintf(d.out, `<text y="%d">`, y+4)
	for i, text := range cells {
		if text == "" {
			continue
		}
		class := ""
		switch i {
		case columnOp:
			class = ` class="op"`
		case columnID, columnTime:
			class = ` class="quiet"`
		}
		d.out.WriteString(`<tspan x="` + strconv.Itoa(d.x[i]) + `"` + class + `>` + html.EscapeString(text) + `</tspan>`)
	}
	d.out.WriteString("</text>")
}

// legend explains the lines, if there is more than one kind.
func (d *drawing) legend() {
	if len(d.roles) < 2 {
		return
	}
	x, y := svgMargin, svgMargin/2+len(d.l.Rows)*svgRow+svgRow/2
	for _, r := range d.roles {
		fmt.Fprintf(d.out, `<path class="edge %s" stroke="currentColor" d="M%d %dh28"/><text class="quiet" x="%d" y="%d">%s</text>`,
			r.class, x, y, x+36, y+4, html.EscapeString(r.name))
		x += 36 + int(float64(advance(r.name))*svgChar) + svgGap
	}
	d.out.WriteString("\n")
}
