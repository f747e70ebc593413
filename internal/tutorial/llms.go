package tutorial

import (
	"errors"
	"fmt"
	"go/doc"
	"os"
	"path/filepath"
	"strings"
)

// llms is llms.txt in the form of llmstxt.org: what there is to read, a line each.
func llms(root string, pages []*page) (string, error) {
	readme, err := readDocument(root, "README.md")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n", readme.title, strings.ReplaceAll(readme.lead, "\n", " "))

	var errs []error
	documents := func(section string, patterns ...string) {
		fmt.Fprintf(&b, "\n## %s\n\n", section)
		for _, pattern := range patterns {
			files, err := filepath.Glob(filepath.Join(root, pattern))
			errs = append(errs, err)
			for _, file := range files {
				name, err := filepath.Rel(root, file)
				d, readErr := readDocument(root, name)
				errs = append(errs, err, readErr)
				line(&b, d.title, filepath.ToSlash(name), d.sentence())
			}
		}
	}
	documents("Start", "README.md", "ARCHITECTURE.md")
	documents("Documents", "docs/*.md")
	documents("Formats", "docs/formats/*.md")
	line(&b, "Flow files", "docs/flow.schema.json", "the JSON Schema of workflows in YAML.")
	b.WriteString("\n## Tutorial\n\n")
	line(&b, "All pages", "docs/tutorial/README.md", "one program a page, and one idea a program.")
	for _, p := range pages {
		line(&b, p.title, "docs/tutorial/"+p.file(), p.synopsis)
	}
	b.WriteString("\n## Packages\n\n")
	tour, err := Tour(root)
	for _, p := range tour {
		line(&b, p.name(), p.File, p.synopsis())
	}
	documents("Optional", "CHANGELOG.md", "bench/RESULTS.md")
	return b.String(), errors.Join(append(errs, err)...)
}

func line(b *strings.Builder, title, file, text string) {
	fmt.Fprintf(b, "- [%s](%s)", title, file)
	if text != "" {
		b.WriteString(": " + text)
	}
	b.WriteString("\n")
}

// document is how a file of Markdown begins.
type document struct{ title, lead string }

func readDocument(root, name string) (d document, err error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return d, err
	}
	title, rest, _ := strings.Cut(string(data), "\n")
	d.title, _ = strings.CutPrefix(title, "# ")
	for paragraph := range strings.SplitSeq(rest, "\n\n") {
		if paragraph = strings.TrimSpace(paragraph); paragraph != "" {
			d.lead = paragraph
			break
		}
	}
	return d, nil
}

// sentence is the first one, where a document begins with one and not with a heading.
func (d document) sentence() string {
	if strings.HasPrefix(d.lead, "#") {
		return ""
	}
	return new(doc.Package).Synopsis(strings.ReplaceAll(d.lead, "**", ""))
}
