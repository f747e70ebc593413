package resource

import (
	"context"
	"io"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/openrath-go/rath/memory/driver"
)

// readHTML makes what a page says to a reader blocks, under its headings.
func readHTML(ctx context.Context, name, text string) (title string, blocks []block, err error) {
	ctx, cancel := context.WithTimeout(ctx, htmlTime)
	defer cancel()
	root, err := html.Parse(&patient{ctx, strings.NewReader(text)})
	if err != nil {
		return "", nil, failed(driver.ErrInvalid, "read %s as HTML: %w", name, err)
	}
	if t := find(root, atom.Title); t != nil {
		title = short(content(t))
	}
	p := &page{}
	for _, part := range []atom.Atom{atom.Main, atom.Article, atom.Body} {
		if n := find(root, part); n != nil {
			p.walk(n)
			p.flush()
		}
		if len(p.blocks) > 0 {
			break
		}
	}
	if title == "" && len(p.headings) > 0 {
		title = p.headings[0].text
	}
	return title, p.blocks, nil
}

// htmlTime is what the reading of a page may take: there are pages for which the parser
// needs the square of their length.
const htmlTime = 10 * time.Second

// patient reads until the context ends.
type patient struct {
	ctx context.Context
	r   io.Reader
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.r.Read(b)
}

// find returns the first element of a name, in order of the text.
func find(n *html.Node, name atom.Atom) *html.Node {
	for d := range n.Descendants() {
		if d.DataAtom == name && d.Namespace == "" {
			return d
		}
	}
	return nil
}

// content is the text in a node, of which a title or a heading takes the beginning.
func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if b.Len() > 2*longest {
			break
		}
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// page collects the text of a page. The parser bounds how deep elements are nested.
type page struct {
	blocks   []block
	headings []heading
	text     strings.Builder
	space    bool // the text goes on after a space
	pre      int  // elements in which spaces count
	code     bool // the text has such an element
}

func (p *page) walk(n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		p.write(n.Data)
		return
	case n.Type == html.ElementNode && silent(n):
		return
	}
	p.enter(n)
	for c := range n.ChildNodes() {
		p.walk(c)
	}
	p.leave(n)
}

// silent reports whether an element says nothing: programs, styles, menus, what is hidden.
func silent(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object, atom.Nav, atom.Aside,
		atom.Footer, atom.Form, atom.Button, atom.Select, atom.Textarea, atom.Canvas, atom.Dialog, atom.Title:
		return true
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			return strings.EqualFold(a.Val, "true")
		case "style":
			return strings.Contains(strings.ReplaceAll(strings.ToLower(a.Val), " ", ""), "display:none")
		}
	}
	return false
}

// level is that of a heading, or 0.
func level(n *html.Node) int {
	if len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6' {
		return int(n.Data[1] - '0')
	}
	return 0
}

func (p *page) enter(n *html.Node) {
	if l := level(n); l > 0 {
		p.flush()
		p.head(l, content(n))
		return
	}
	switch n.DataAtom {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Header, atom.Blockquote, atom.Table, atom.Figure, atom.Ul, atom.Ol, atom.Dl, atom.Details:
		p.end("\n\n")
	case atom.Pre:
		p.end("\n\n")
		p.pre++
		p.code = true
	case atom.Li:
		p.end("\n")
		p.text.WriteString("- ")
	case atom.Br, atom.Tr, atom.Dt, atom.Dd, atom.Caption, atom.Summary:
		p.end("\n")
	case atom.Td, atom.Th:
		if n.PrevSibling != nil && p.inLine() {
			p.text.WriteString(" | ")
			p.space = false
		}
	}
}

func (p *page) leave(n *html.Node) {
	if level(n) > 0 {
		p.end("\n\n")
		return
	}
	switch n.DataAtom {
	case atom.Pre:
		p.pre--
		p.flush()
	case atom.P, atom.Blockquote, atom.Table, atom.Figure, atom.Ul, atom.Ol, atom.Dl:
		p.end("\n\n")
		if !p.onlyHeading() {
			p.flush()
		}
	}
}

// head enters a section.
func (p *page) head(l int, text string) {
	for n := len(p.headings); n > 0 && p.headings[n-1].level >= l; n-- {
		p.headings = p.headings[:n-1]
	}
	if text = short(text); text != "" {
		p.headings = append(p.headings, heading{l, text})
	}
}

// onlyHeading reports whether the text is the heading that the section begins with, which
// stays with what follows.
func (p *page) onlyHeading() bool {
	n := len(p.headings)
	return n > 0 && p.text.Len() <= 2*longest && short(p.text.String()) == p.headings[n-1].text
}

func (p *page) write(text string) {
	if p.pre > 0 {
		p.text.WriteString(text)
		return
	}
	for i, w := range strings.Fields(text) {
		if (i > 0 || p.space || strings.ContainsAny(text[:1], " \n\t\f\r")) && p.inLine() {
			p.text.WriteString(" ")
		}
		p.text.WriteString(w)
		p.space = false
	}
	if text != "" && strings.ContainsAny(text[len(text)-1:], " \n\t\f\r") {
		p.space = true
	}
}

// inLine reports whether the line has something in it already.
func (p *page) inLine() bool {
	text := p.text.String()
	return text != "" && text[len(text)-1] != '\n' && text[len(text)-1] != ' '
}

// end ends a line or a paragraph, once.
func (p *page) end(with string) {
	p.space = false
	text := p.text.String()
	if text == "" || strings.HasSuffix(text, with) || strings.HasSuffix(text, "- ") {
		return
	}
	if with == "\n\n" && strings.HasSuffix(text, "\n") {
		with = "\n"
	}
	p.text.WriteString(with)
}

func (p *page) flush() {
	p.end("\n\n")
	if strings.TrimSpace(p.text.String()) != "" {
		p.blocks = append(p.blocks, block{context: names(p.headings), text: p.text.String(), code: p.code})
	}
	p.text.Reset()
	p.code = p.pre > 0
}
