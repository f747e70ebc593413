package graph

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/openrath-go/rath/session"
)

var hostile = []string{
	`"];x[label="`, `a\`, `\N\"`, "</title><script>alert(1)</script>", `" onload="alert(1)`,
	"a\nb", "a\r\n\x1b[2J\x00\u202e\u2028", "\xff\xfe", "]]>", "&lt;&#x0;", "%%{init: {}}%%", "`# **x**`",
	"$$x$$", "{{x}}", `"]:::x --> y`, "#quot;", "ü 中文 🙂", "\u200b\u3164", strings.Repeat("long/", 40), "<!--", "*/ } --",
	"- list", "1. one", "@{ shape: x }", "|", "end",
}

// villain puts a text wherever a head can hold one.
func villain(text string) []session.Head {
	a, b := head(1), head(2, 1)
	for _, h := range []*session.Head{&a, &b} {
		h.Lineage.Path, h.Lineage.Run = text, text
		h.Lineage.Extras = []session.Extra{{Key: text, Value: text}}
	}
	b.Lineage.Parents[0].Role = session.Role(text)
	b.Lineage.Parents = append(b.Lineage.Parents, session.Parent{ID: id(3), Role: session.Role(text)})
	return []session.Head{a, b}
}

var (
	lineDOT     = regexp.MustCompile(`^(digraph lineage \{|  (node|edge) \[.*\]|  "[^"]+" \[(label|tooltip)="(\\.|[^"\\])*"(, \w+="(\\.|[^"\\])*")*\]|  "[^"]+" -> "[^"]+"( \[style=\w+\])?|\})$`)
	sgr         = regexp.MustCompile("\x1b\\[[0-9;]*m")
	lineMermaid = regexp.MustCompile(`^(flowchart TB|  n\d+\["([\pL\p{Nd} \-./,]|#\d+;|<br/>)*"\](:::\w+)?|  n\d+ [-.=>…" |]+ n\d+|  classDef .*)$`)
	elements    = map[string]bool{"svg": true, "style": true, "path": true, "title": true, "g": true, "rect": true, "circle": true, "text": true, "tspan": true}
	attributes  = regexp.MustCompile(`^(xmlns|class|role|aria-label|width|height|viewBox|d|id|x|y|cx|cy|r|stroke)$`)
)

func checkSVG(t *testing.T, data string) {
	t.Helper()
	for dec := xml.NewDecoder(strings.NewReader(data)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !elements[token.Name.Local] {
				t.Errorf("element %s\n%s", token.Name.Local, data)
			}
			for _, a := range token.Attr {
				if !attributes.MatchString(a.Name.Local) {
					t.Errorf("attribute %s\n%s", a.Name.Local, data)
				}
			}
		case xml.Comment, xml.Directive, xml.ProcInst:
			t.Errorf("%T\n%s", token, data)
		}
	}
}

func checkLines(t *testing.T, data string, line *regexp.Regexp) {
	t.Helper()
	for l := range strings.Lines(data) {
		if !line.MatchString(strings.TrimSuffix(l, "\n")) {
			t.Errorf("%q", l)
		}
	}
}

func checkText(t *testing.T, data string) {
	t.Helper()
	for _, r := range data {
		if r != '\n' && (!unicode.IsGraphic(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)) {
			t.Errorf("%q holds %q", data, r)
		}
	}
}

func checkJSON(t *testing.T, data string) {
	t.Helper()
	var j JSON
	if err := json.Unmarshal([]byte(data), &j); err != nil {
		t.Fatal(err)
	}
	if len(j.Nodes) != 2 || len(j.Edges) != 2 || len(j.Absent) != 1 || strings.ContainsAny(data, "<>&") {
		t.Errorf("%s", data)
	}
}

func checkHostile(t *testing.T, text string) {
	t.Helper()
	g := build(t, villain(text)...)
	out := map[string]string{}
	for _, w := range writers {
		data := written(t, g, w.write, nil)
		if !utf8.ValidString(data) {
			t.Errorf("%s: not UTF-8: %q", w.file, data)
		}
		out[w.file] = data
	}
	checkSVG(t, out["svg"])
	checkJSON(t, out["json"])
	checkText(t, out["txt"])
	checkLines(t, out["dot"], lineDOT)
	checkLines(t, out["mmd"], lineMermaid)
	if n := strings.Count(out["txt"], "\n"); n != 4 {
		t.Errorf("text has %d lines:\n%s", n, out["txt"])
	}
	for line := range bytes.Lines([]byte(out["jsonl"])) {
		if !json.Valid(line) {
			t.Errorf("%q", line)
		}
	}
}

func TestHostileNames(t *testing.T) {
	for _, text := range hostile {
		checkHostile(t, text)
	}
}

func FuzzNames(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(checkHostile)
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteError(t *testing.T) {
	g := build(t, chain(3)...)
	for _, w := range writers {
		if err := w.write(g, full{}, nil); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", w.file, err)
		}
	}
}

func TestShortNames(t *testing.T) {
	g := build(t, chain(2)...)
	text := written(t, g, (*Graph).WriteText, &Options{Short: func(id session.ID) string { return "<" + id.String()[:2] + ">\n" }})
	checkText(t, text)
	checkSVG(t, written(t, g, (*Graph).WriteSVG, &Options{Short: func(id session.ID) string { return "<script>" }}))
}
