package evidence

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"strings"
	"text/template"
)

// WriteMarkdown writes the dossier as Markdown for people, with the JSON dossier in a
// comment at its end.
func (d *Dossier) WriteMarkdown(w io.Writer) error { return d.write(w, formatMarkdown) }

//go:embed dossier.md.tmpl
var markdownText string

func (d *Dossier) renderMarkdown(f *format) ([]byte, error) {
	data, err := d.sealed(formatJSON)
	if err != nil {
		return nil, err
	}
	p, err := newPage(d)
	if err != nil {
		return nil, err
	}
	t, err := template.New("dossier").Funcs(markdownFuncs()).Parse(markdownText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(f.begin + strings.Repeat("0", sealLen) + " -->\n")
	err = t.Execute(&b, p)
	b.WriteString(f.open)
	for text := base64.StdEncoding.EncodeToString(data); text != ""; {
		n := min(len(text), 100)
		b.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	b.Truncate(b.Len() - 1)
	b.WriteString(f.close)
	return b.Bytes(), err
}

func markdownFuncs() template.FuncMap {
	funcs := template.FuncMap{
		"cell": func(v any) string { return escapeMarkdown(fmt.Sprint(v)) },
		"dash": func(v any) string { return escapeMarkdown(orDash(v)) },
		"fence": func(s string) string {
			marks := fence(s)
			return marks + "\n" + visible(s) + "\n" + marks
		},
	}
	maps.Copy(funcs, template.FuncMap(htmlFuncs))
	return funcs
}

// fence is longer than any run of backticks in a text.
func fence(s string) string {
	longest, n := 2, 0
	for _, r := range s {
		if r != '`' {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return strings.Repeat("`", longest+1)
}

// escapeMarkdown puts a text on one line, and makes it say what it says, whatever it looks
// like.
func escapeMarkdown(s string) string {
	var b strings.Builder
	text := []rune(visible(s))
	for i, r := range text {
		switch {
		case r == '<':
			b.WriteString("&lt;")
			continue
		case r == '&':
			b.WriteString("&amp;")
			continue
		case r == '\t', r == '\n':
			r = ' '
		case strings.ContainsRune("\\`*_[]|~$^@#!", r), i == 0 && strings.ContainsRune("-+=>", r),
			r == ':' && i+1 < len(text) && text[i+1] == '/': // no link of its own
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
