package evidence

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/openrath-go/rath/session"
)

// WriteHTML writes the dossier as one page that needs nothing else: no script, no other
// file, no network. It opens from a disk.
func (d *Dossier) WriteHTML(w io.Writer) error { return d.write(w, formatHTML) }

//go:embed dossier.html.tmpl
var htmlText string

//go:embed dossier.css
var css string

func (d *Dossier) renderHTML(f *format) ([]byte, error) {
	data, err := d.sealed(formatJSON)
	if err != nil {
		return nil, err
	}
	p, err := newPage(d)
	if err != nil {
		return nil, err
	}
	t, err := template.New("dossier").Funcs(htmlFuncs).Funcs(template.FuncMap{"id": p.ShortID}).Parse(htmlText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(f.begin + strings.Repeat("0", sealLen) + " -->\n")
	err = t.Execute(&b, htmlPage{p, template.CSS(css), template.HTMLAttr(f.open + base64.StdEncoding.EncodeToString(data) + f.close)})
	return b.Bytes(), err
}

// htmlPage is the page with what the template takes as it is.
type htmlPage struct {
	*page
	CSS  template.CSS
	JSON template.HTMLAttr
}

// SVG is the graph's drawing, which escapes what it shows.
func (p htmlPage) SVG() (template.HTML, error) {
	svg, err := p.Graph()
	return template.HTML(svg), err
}

// ChunkOn is a chunk that is shown, and the page that it is on.
func (p htmlPage) ChunkOn(d session.Digest) any {
	return struct {
		shownChunk
		Page *page
	}{p.First(d), p.page}
}

// With is an effect, and the page that it is on.
func (p htmlPage) With(e Effect) any {
	return struct {
		Effect
		Page *page
	}{e, p.page}
}

// WithMemory is an operation on a memory, and the page that it is on.
func (p *page) WithMemory(m MemoryCall) any {
	return struct {
		MemoryCall
		Page *page
	}{m, p}
}

var htmlFuncs = template.FuncMap{
	"clock": clock, "took": took, "tokens": tokens, "tokenDetails": tokenDetails, "count": count,
	"visible": visible, "clip": clip, "pretty": pretty, "orDash": orDash, "describe": describe,
	"cost": cost, "used": used, "digest": shortDigest, "score": score, "trust": trust,
	"effect": effectAnchor,
	"image": func(p shownPart) template.URL {
		return template.URL("data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString([]byte(p.Data)))
	},
	"tone": tone,
	"sub":  func(a, b int) int { return a - b },
	"add":  func(a, b int) int { return a + b },
	"is":   func(b *bool) bool { return b != nil && *b },
	"has":  func(v any) bool { return !reflect.ValueOf(v).IsZero() },
}

// effectAnchor names an effect within the page.
func effectAnchor(run session.ID, n int64) string {
	return "e-" + run.String() + "-" + strconv.FormatInt(n, 10)
}

// tone is how a word is colored.
func tone(word any) string {
	switch fmt.Sprint(word) {
	case "ok", "succeeded", "passed", "approve", "result", "edit", "respond":
		return "good"
	case "failed", "denied", "reject", "rejected", "timed_out", "expired", "abort", "no_tool":
		return "bad"
	case "interrupted", "cancelled", "truncated", "needs_review", "waiting", "unused", "unknown", "tool", "resource":
		return "odd"
	}
	return "plain"
}
