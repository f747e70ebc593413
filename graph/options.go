package graph

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openrath-go/rath/session"
)

// Options say how a graph is written. Nil is the zero Options.
type Options struct {
	// Mark is a session that is drawn to stand out.
	Mark session.ID
	// Short names sessions in drawings. nil: by the shortest beginnings of the ids, of at
	// least 8 digits, that differ in the graph.
	Short func(session.ID) string
	// Location is where times are shown. nil: UTC.
	Location *time.Location
	// Color makes text colorful, for a terminal.
	Color bool
	// Lanes is how many lanes text shows; further ones share a column. 0: 40.
	Lanes int
}

// captions make what is written beside a session.
type captions struct{ Options }

func (g *Graph) captions(opts *Options) *captions {
	c := &captions{}
	if opts != nil {
		c.Options = *opts
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	if c.Short == nil {
		digits := g.distinctDigits()
		c.Short = func(id session.ID) string { return id.String()[:digits] }
	}
	return c
}

// distinctDigits returns how many characters of the ids tell all of them apart.
func (g *Graph) distinctDigits() int {
	ids := make([]session.ID, len(g.heads))
	for i := range g.heads {
		ids[i] = g.heads[i].ID
	}
	slices.SortFunc(ids, func(a, b session.ID) int { return bytes.Compare(a[:], b[:]) })
	digits := 8
	for i := 1; i < len(ids); i++ {
		digits = max(digits, commonDigits(ids[i-1], ids[i])+1)
	}
	dashes := 0
	for _, at := range []int{8, 12, 16, 20} {
		if digits > at {
			dashes++
		}
	}
	return digits + dashes
}

func commonDigits(a, b session.ID) int {
	for i := range a {
		if diff := a[i] ^ b[i]; diff >= 16 {
			return 2 * i
		} else if diff != 0 {
			return 2*i + 1
		}
	}
	return 2 * len(a)
}

// The columns of a caption.
const (
	columnID = iota
	columnOp
	columnPath
	columnChunks
	columnTokens
	columnCost
	columnTime
	columns
)

// cells returns the columns for a session. They are printable; some are empty.
func (c *captions) cells(h *session.Head, absent bool) (cells [columns]string) {
	cells[columnID] = printable(c.Short(h.ID))
	if absent {
		cells[columnOp] = "absent"
		return cells
	}
	cells[columnOp] = h.Lineage.Op.String()
	cells[columnPath] = strings.TrimSpace(printable(h.Lineage.Path) + " " + made(h))
	cells[columnChunks] = plural(int64(h.Len), "chunk")
	if u := h.Usage; u != (session.Usage{}) {
		cells[columnTokens], cells[columnCost] = tokens(u), price(u.Cost)
	}
	if t := h.Lineage.Time; !t.IsZero() {
		cells[columnTime] = t.In(c.Location).Format(time.DateTime)
	}
	return cells
}

// made says what a selector chose or a compression took out, empty for other sessions.
func made(h *session.Head) string {
	for _, e := range h.Lineage.Extras {
		switch e.Key {
		case "selector.choice":
			return "-> " + printable(e.Value)
		case "compress.removed":
			if n, err := strconv.ParseInt(e.Value, 10, 64); err == nil {
				return "(" + plural(n, "chunk") + " removed)"
			}
		}
	}
	return ""
}

// details describes a session in full, a line for each matter.
func (c *captions) details(h *session.Head, absent bool) string {
	lines := []string{h.ID.String()}
	if absent {
		return lines[0] + "\nnot in this graph"
	}
	cells := c.cells(h, false)
	lines = append(lines, strings.TrimSpace(cells[columnOp]+" "+cells[columnPath]))
	if h.Lineage.Run != "" {
		lines = append(lines, "run "+printable(h.Lineage.Run))
	}
	lines = append(lines, cells[columnChunks]+", digest "+h.Digest.String()[:16])
	if u := h.Usage; u != (session.Usage{}) {
		lines = append(lines, fmt.Sprintf("%s: %d in, %d out; %s", plural(u.Calls, "call"), u.Input, u.Output, cells[columnCost]))
	}
	if cells[columnTime] != "" {
		lines = append(lines, cells[columnTime])
	}
	for _, e := range h.Lineage.Extras {
		lines = append(lines, printable(e.Key)+": "+printable(e.Value))
	}
	return strings.Join(lines, "\n")
}

func plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(n, 10) + " " + noun
}

func tokens(u session.Usage) string {
	if u.Unreported > 0 {
		return strconv.FormatInt(u.Total(), 10) + "+? tokens"
	}
	return plural(u.Total(), "token")
}

func price(c session.Cost) string {
	if c.Nano == 0 && !c.Known() {
		return "price unknown"
	}
	return c.String()
}

// printable returns a name as it is, or quoted if it holds anything that could break a
// line, steer a terminal or deceive the eye.
func printable(name string) string {
	if !utf8.ValidString(name) || strings.IndexFunc(name, hidden) >= 0 {
		return strconv.QuoteToASCII(name)
	}
	return name
}

func hidden(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// shorten cuts a caption to a number of characters.
func shorten(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// write draws through a buffer, which keeps the first error of w.
func write(w io.Writer, draw func(out *bufio.Writer) error) error {
	out := bufio.NewWriterSize(w, 1<<16)
	err := draw(out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("write session graph: %w", err)
	}
	return nil
}
