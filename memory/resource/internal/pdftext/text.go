package main

import (
	"bufio"
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
)

// matrix is a transformation as PDF writes it: x' = ax + cy + e, y' = bx + dy + f.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// times does m first, then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// state is what the operators q and Q save and restore.
type state struct {
	ctm                       matrix
	font                      *font
	size, leading             float64
	charSpace, space, scaling float64
}

// text follows the operators of pages and writes what they show. Where one string ends and
// the next begins says whether a space or a line is between them.
type text struct {
	out   *bufio.Writer
	fonts map[string]*font // by how they are written in the file
	named map[string]*font // by their names in the resources at hand

	state
	saved    []state
	tm, line matrix
	x, y     float64 // where the last string ended
	any      bool    // there was one on this page
	depth    int     // of forms
}

func (t *text) page(contents, resources pdf.Value) {
	t.state = state{ctm: identity, scaling: 1}
	t.saved, t.any = t.saved[:0], false
	t.tm, t.line = identity, identity
	t.run(contents, resources)
}

// run follows one stream. Where it is broken, what came before counts.
func (t *text) run(contents, resources pdf.Value) {
	defer func() { _ = recover() }()
	if contents.IsNull() {
		return
	}
	t.named = map[string]*font{}
	pdf.Interpret(contents, func(stack *pdf.Stack, op string) {
		args := make([]pdf.Value, stack.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		t.do(op, args, resources)
	})
}

func (t *text) do(op string, args []pdf.Value, resources pdf.Value) {
	number := func(i int) float64 {
		if i < len(args) {
			return args[i].Float64()
		}
		return 0
	}
	all := func() matrix {
		return matrix{number(0), number(1), number(2), number(3), number(4), number(5)}
	}
	switch op {
	case "q":
		t.saved = append(t.saved, t.state)
	case "Q":
		if n := len(t.saved); n > 0 {
			t.state, t.saved = t.saved[n-1], t.saved[:n-1]
		}
	case "cm":
		t.ctm = all().times(t.ctm)
	case "BT":
		t.tm, t.line = identity, identity
	case "Tm":
		t.tm = all()
		t.line = t.tm
	case "Tc":
		t.charSpace = number(0)
	case "Tw":
		t.space = number(0)
	case "Tz":
		t.scaling = number(0) / 100
	case "TL":
		t.leading = number(0)
	case "Tf":
		t.size = number(1)
		if len(args) > 0 {
			t.font = t.choose(args[0].Name(), resources)
		}
	case "Do":
		if len(args) > 0 {
			t.form(resources.Key("XObject").Key(args[0].Name()), resources)
		}
	default:
		t.show(op, args, number)
	}
}

// show does the operators that move and show strings.
func (t *text) show(op string, args []pdf.Value, number func(int) float64) {
	switch op {
	case "Td":
		t.move(number(0), number(1))
	case "TD":
		t.leading = -number(1)
		t.move(number(0), number(1))
	case "T*":
		t.move(0, -t.leading)
	case "'", "\"":
		t.move(0, -t.leading)
		t.write(last(args).RawString())
	case "Tj":
		t.write(last(args).RawString())
	case "TJ":
		parts := last(args)
		for i := range parts.Len() {
			if part := parts.Index(i); part.Kind() == pdf.String {
				t.write(part.RawString())
			} else {
				t.advance(-part.Float64() / 1000 * t.size)
			}
		}
	}
}

func last(args []pdf.Value) pdf.Value {
	if len(args) == 0 {
		return pdf.Value{}
	}
	return args[len(args)-1]
}

func (t *text) move(x, y float64) {
	t.line = matrix{1, 0, 0, 1, x, y}.times(t.line)
	t.tm = t.line
}

func (t *text) advance(x float64) {
	t.tm = matrix{1, 0, 0, 1, x * t.scaling, 0}.times(t.tm)
}

// write shows one string.
func (t *text) write(raw string) {
	if t.font == nil || raw == "" {
		return
	}
	at := t.tm.times(t.ctm)
	size := t.size * math.Hypot(at[2], at[3])
	t.gap(at[4]-t.x, math.Abs(at[5]-t.y), size)
	t.out.WriteString(strings.ToValidUTF8(t.font.enc.Decode(raw), "\ufffd"))
	codes, width := t.font.measure(raw)
	t.advance(width/1000*t.size + float64(codes)*t.charSpace + float64(strings.Count(raw, " "))*t.space)
	end := t.tm.times(t.ctm)
	t.x, t.y, t.any = end[4], end[5], true
}

// gap writes what is between two strings, by how far they are apart.
func (t *text) gap(dx, dy, size float64) {
	switch {
	case !t.any || size <= 0:
	case dy > 1.9*size:
		t.out.WriteString("\n\n")
	case dy > 0.5*size || dx < -2*size:
		t.out.WriteString("\n")
	case dx > 0.15*size:
		t.out.WriteString(" ")
	}
}

// form follows the stream of a form, which is a drawing of its own.
func (t *text) form(x, resources pdf.Value) {
	if x.Key("Subtype").Name() != "Form" || t.depth > 8 {
		return
	}
	if r := x.Key("Resources"); r.Kind() == pdf.Dict {
		resources = r
	}
	before, saved := t.state, len(t.saved)
	if m := x.Key("Matrix"); m.Len() == 6 {
		var own matrix
		for i := range own {
			own[i] = m.Index(i).Float64()
		}
		t.ctm = own.times(t.ctm)
	}
	named := t.named
	t.depth++
	t.run(x, resources)
	t.depth--
	t.named = named
	t.state, t.saved = before, t.saved[:min(saved, len(t.saved))]
}
