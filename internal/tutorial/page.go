package tutorial

import (
	"errors"
	"fmt"
	"go/doc"
	"go/doc/comment"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// page is one example, read.
type page struct {
	dir      string // 08_compress
	source   string // main.go or flow.yaml
	number   int
	title    string
	synopsis string // the first sentence
	imports  []string
	parts    []part
	note     string // what differs from one run to the next; may be empty
	output   string
}

// part is a comment at the beginning of the line, or what stands between two.
type part struct {
	prose bool
	text  string
}

func (p *page) file() string { return p.dir + ".md" }

func (p *page) link() string { return fmt.Sprintf("[%d. %s](%s)", p.number, p.title, p.file()) }

// languages are the sources that a page can be made from, with what begins a comment.
var languages = []struct{ source, name, comment string }{
	{"main.go", "go", "//"},
	{"flow.yaml", "yaml", "#"},
}

func readPage(dir string) (*page, error) {
	p := &page{dir: filepath.Base(dir)}
	p.number, _ = strconv.Atoi(p.dir[:2]) // there are two digits: see rung
	for _, l := range languages {
		data, err := os.ReadFile(filepath.Join(dir, l.source))
		if err == nil {
			p.source = l.source
			return p, errors.Join(p.read(string(data), l.comment), p.readOutput(dir))
		}
	}
	return nil, errors.New("there is nothing to make it from")
}

// The head of a program is left out: the imports are told at the end.
var (
	head     = regexp.MustCompile(`(?s)\npackage main\n+import \(\n(.*?)\n\)\n`)
	imported = regexp.MustCompile(`"` + module + `/([^"]+)"`)
	titled   = regexp.MustCompile(`^(\w[\w -]*): (?s:(.*))$`)
)

func (p *page) read(source, mark string) error {
	if m := head.FindStringSubmatchIndex(source); m != nil {
		for _, i := range imported.FindAllStringSubmatch(source[m[2]:m[3]], -1) {
			p.imports = append(p.imports, i[1])
		}
		source = source[:m[0]] + "\n\n" + source[m[1]:]
	}
	p.parts = split(source, mark)
	m := titled.FindStringSubmatch(p.parts[0].text)
	if m == nil || !p.parts[0].prose {
		return fmt.Errorf(`%s does not begin with a comment "Title: what it shows"`, p.source)
	}
	p.title, p.parts[0].text = m[1], capital(m[2])
	p.synopsis = docLink.ReplaceAllString(new(doc.Package).Synopsis(m[2]), "`$1`")
	return nil
}

var docLink = regexp.MustCompile(`\[(\w+(?:\.\w+)*)\]`)

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// split parts a source into comments and code. Comments within code are indented.
func split(source, mark string) (parts []part) {
	for line := range strings.Lines(source) {
		text, prose := strings.CutPrefix(line, mark)
		if prose {
			text = strings.TrimPrefix(text, " ")
		}
		last := len(parts) - 1
		if last < 0 || parts[last].prose != prose {
			parts = append(parts, part{prose: prose})
			last++
		}
		parts[last].text += text
	}
	return parts
}

var (
	noted  = regexp.MustCompile(`((?://.*\n)+)func Example\(\) {`)
	output = regexp.MustCompile(`(?s)\t// Output:\n(.*?)\n}`)
)

// readOutput takes what the example's test compares with, and the comment of the test.
func (p *page) readOutput(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "main_test.go"))
	if err != nil {
		return err
	}
	m := output.FindSubmatch(data)
	if m == nil {
		return errors.New("main_test.go has no Example with output")
	}
	if n := noted.FindSubmatch(data); n != nil {
		p.note = strings.ReplaceAll(string(n[1]), "// ", "") + "\n"
	}
	for line := range strings.Lines(string(m[1])) {
		p.output += strings.TrimPrefix(strings.TrimPrefix(line, "\t//"), " ")
	}
	return nil
}

func (p *page) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Made by go generate from examples/%s: change it there. -->\n\n# %d. %s\n\n", p.dir, p.number, p.title)
	language := strings.TrimPrefix(path.Ext(p.source), ".")
	for i, part := range p.parts {
		switch text := strings.Trim(part.text, "\n"); {
		case text == "":
		case part.prose:
			b.WriteString(p.prose(text, p.following(i)) + "\n")
		default:
			fmt.Fprintf(&b, "```%s\n%s\n```\n\n", language, text)
		}
	}
	fmt.Fprintf(&b, "## What it shows\n\n```sh\n%s\n```\n\n%s```text\n%s\n```\n\n", p.command(), p.note, strings.TrimSpace(p.output))
	fmt.Fprintf(&b, "The source is [examples/%s/%s](../../examples/%[1]s/%s).", p.dir, p.source, p.source)
	if used := p.packages(); used != "" {
		b.WriteString(" It uses the packages " + used + ".")
	}
	return b.String() + "\n"
}

// following is the code that a comment stands before.
func (p *page) following(i int) string {
	if i+1 < len(p.parts) {
		return p.parts[i+1].text
	}
	return ""
}

var declared = regexp.MustCompile(`^(?:func (?:\([^)]*\) )?|type |var |const )(\w+)`)

// prose is a comment in Markdown. The name of what it stands before is code.
func (p *page) prose(text, code string) string {
	parser := comment.Parser{LookupPackage: func(name string) (string, bool) {
		for _, i := range p.imports {
			if path.Base(i) == name {
				return module + "/" + i, true
			}
		}
		return "", false
	}}
	printer := comment.Printer{DocLinkURL: func(l *comment.DocLink) string {
		return "../.." + strings.TrimPrefix(l.ImportPath, module)
	}}
	out := string(printer.Markdown(parser.Parse(text)))
	if m := declared.FindStringSubmatch(code); m != nil && strings.HasPrefix(out, m[1]+" ") {
		out = "`" + m[1] + "`" + out[len(m[1]):]
	}
	return out
}

// command is how the reader makes the output.
func (p *page) command() string {
	if p.source == "main.go" {
		return "go run ./examples/" + p.dir
	}
	return "go install ./cmd/rath && cd examples/" + p.dir +
		"\nrath check flow.yaml\nrath summary flow.yaml\nrath run -f flow.yaml \"Why is the sky blue?\""
}

func (p *page) packages() string {
	var links []string
	for _, i := range p.imports {
		if !strings.HasPrefix(i, "examples/") {
			links = append(links, fmt.Sprintf("[%s](../../%s)", i, i))
		}
	}
	return strings.Join(links, ", ")
}
