package graph

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteText draws the graph in the manner of git log --graph, a session a line: the
// beginning of its id, operation, workflow, chunks, tokens, cost and time.
//
// A star is a session, @ the marked one, o an absent one. Lanes are drawn with |, and
// with : where a filter took sessions out; + is lanes that there is no room for. A blank
// line parts sessions that are below each other and not related.
func (g *Graph) WriteText(w io.Writer, opts *Options) error {
	c, l := g.captions(opts), g.Layout()
	return write(w, func(out *bufio.Writer) error {
		p := newPainter(out, c, l)
		edges := l.Edges
		for row := range l.Rows {
			n := 0
			for n < len(edges) && edges[n].Child == row {
				n++
			}
			cells := c.cells(&g.heads[len(g.heads)-1-row], l.Rows[row].Absent)
			p.session(row, cells)
			p.connect(row, edges[:n])
			edges = edges[n:]
		}
		return nil
	})
}

const defaultLanes = 40

// painter draws rows of cells: lane n in column 2n, and what leads from lane to lane
// between.
type painter struct {
	out    *bufio.Writer
	c      *captions
	l      *Layout
	room   int    // lanes that are drawn; further ones are drawn as lane room
	ends   []int  // for each lane drawn, the row that it leads to
	elided []bool // for each lane drawn
	cells  []byte
	colors []uint8
}

func newPainter(out *bufio.Writer, c *captions, l *Layout) *painter {
	room := c.Lanes
	if room <= 0 {
		room = defaultLanes
	}
	n := min(room+1, l.Lanes)
	return &painter{
		out: out, c: c, l: l, room: room, ends: make([]int, n), elided: make([]bool, n),
		cells: make([]byte, 2*n), colors: make([]uint8, 2*n),
	}
}

// lane returns where a row's session is drawn.
func (p *painter) lane(row int) int { return min(p.l.Rows[row].Lane, p.room) }

// session draws a session's line.
func (p *painter) session(row int, text [columns]string) {
	p.pass(row)
	mark := byte('*')
	switch r := p.l.Rows[row]; {
	case r.ID == p.c.Mark && !r.ID.IsZero():
		mark = '@'
	case r.Absent:
		mark = 'o'
	}
	p.put(2*p.lane(row), mark, p.lane(row))
	p.flush()
	p.caption(text, mark == '@')
	p.out.WriteByte('\n')
}

func (p *painter) caption(text [columns]string, marked bool) {
	style := "33"
	if marked {
		style = "1;7"
	}
	p.out.WriteByte(' ')
	p.paint(style, text[columnID])
	for _, t := range text[columnOp:] {
		if t != "" {
			p.out.WriteString("  ")
			p.out.WriteString(t)
		}
	}
}

// connect draws what leads from a row's session to the lanes of its parents: all that
// goes right on one line, each that goes left on a line of its own.
func (p *painter) connect(row int, edges []Edge) {
	if len(edges) == 0 {
		p.part(row)
	}
	own := p.lane(row)
	left, right, straight := p.sides(row, edges)
	for len(left)+len(right) > 0 {
		p.pass(row)
		if straight || len(left) > 1 {
			p.put(2*own, p.bar(own), own)
		}
		for _, e := range right {
			p.right(own, p.lane(e.Parent))
		}
		drawn := right
		right = nil
		if len(left) > 0 {
			p.left(own, p.lane(left[0].Parent))
			drawn = append(drawn, left[0])
			left = left[1:]
		}
		p.flush()
		p.out.WriteByte('\n')
		for _, e := range drawn {
			p.open(row, e)
		}
	}
}

// sides tells apart what goes left, the nearest first, and right, and opens what goes
// straight on.
func (p *painter) sides(row int, edges []Edge) (left, right []Edge, straight bool) {
	own := p.lane(row)
	for _, e := range edges {
		switch to := p.lane(e.Parent); {
		case to < own:
			left = append(left, e)
		case to > own:
			right = append(right, e)
		default:
			straight = true
			p.open(row, e)
		}
	}
	slices.SortStableFunc(left, func(a, b Edge) int { return p.lane(b.Parent) - p.lane(a.Parent) })
	return left, right, straight
}

// part keeps a session without parents from looking like the child of the next one.
func (p *painter) part(row int) {
	if row+1 < len(p.l.Rows) && p.lane(row) == p.lane(row+1) {
		p.pass(row)
		p.flush()
		p.out.WriteByte('\n')
	}
}

// open lets an edge run in its parent's lane from here on.
func (p *painter) open(row int, e Edge) {
	to := p.lane(e.Parent)
	p.elided[to] = e.Elided && (p.elided[to] || p.ends[to] <= row)
	p.ends[to] = max(p.ends[to], e.Parent)
}

// pass draws the lanes that lead past a row.
func (p *painter) pass(row int) {
	for i := range p.cells {
		p.cells[i] = ' '
	}
	for lane, end := range p.ends {
		if end > row {
			p.put(2*lane, p.bar(lane), lane)
		}
	}
}

func (p *painter) bar(lane int) byte {
	switch {
	case lane == p.room:
		return '+'
	case p.elided[lane]:
		return ':'
	}
	return '|'
}

func (p *painter) right(from, to int) {
	p.fill(2*from+1, 2*to-1, '-', to)
	p.put(2*to-1, '\\', to)
}

func (p *painter) left(from, to int) {
	p.fill(2*to+1, 2*from-1, '_', to)
	p.put(2*from-1, '/', to)
}

// fill draws where nothing is drawn yet.
func (p *painter) fill(from, to int, with byte, lane int) {
	for i := from; i < to; i++ {
		if p.cells[i] == ' ' {
			p.put(i, with, lane)
		}
	}
}

func (p *painter) put(at int, with byte, lane int) {
	p.cells[at], p.colors[at] = with, uint8(lane%6)
}

// flush writes the cells up to the last that is not blank.
func (p *painter) flush() {
	cells := bytes.TrimRight(p.cells, " ")
	if !p.c.Color {
		p.out.Write(cells)
		return
	}
	for i := 0; i < len(cells); {
		n := i + 1
		for n < len(cells) && (cells[n] == ' ') == (cells[i] == ' ') && p.colors[n] == p.colors[i] {
			n++
		}
		if cells[i] == ' ' {
			p.out.Write(cells[i:n])
		} else {
			p.paint(strconv.Itoa(31+int(p.colors[i])), string(cells[i:n]))
		}
		i = n
	}
}

// paint writes a text in a style, the parameters of an SGR sequence.
func (p *painter) paint(style, text string) {
	if !p.c.Color || strings.TrimSpace(text) == "" {
		p.out.WriteString(text)
		return
	}
	p.out.WriteString("\x1b[" + style + "m" + text + "\x1b[m")
}
