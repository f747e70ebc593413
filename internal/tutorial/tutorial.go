// Package tutorial makes the pages of docs/tutorial, and llms.txt, from what they tell of: the
// programs in examples with their comments and outputs, the documents, and the packages'
// comments. So none of it can drift: a test compares what is committed with what is made.
package tutorial

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

//go:generate go run ./build ../..

const module = "github.com/openrath-go/rath"

// Make returns the files, by their paths below the module's folder.
func Make(root string) (map[string]string, error) {
	pages, err := readPages(root)
	if err != nil {
		return nil, err
	}
	files := map[string]string{"docs/tutorial/README.md": index(pages)}
	for i, p := range pages {
		files["docs/tutorial/"+p.file()] = p.markdown() + between(pages, i)
	}
	files["llms.txt"], err = llms(root, pages)
	return files, err
}

var rung = regexp.MustCompile(`^(\d\d)_\w+$`)

func readPages(root string) (pages []*page, err error) {
	dir := filepath.Join(root, "examples")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() || !rung.MatchString(e.Name()) {
			continue
		}
		p, err := readPage(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("make a page of examples/%s: %w", e.Name(), err)
		}
		pages = append(pages, p)
	}
	return pages, nil
}

const indexHead = `# Tutorial

One program a page, and one idea a program. Each is a rung: it uses what those before it have
shown. No key is needed: models are played. The Go programs take ` + "`-live`" + `: then that model
answers whose key is in the environment (` + "`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`" + `), or which the
configuration of ` + "`rath`" + ` names.

The pages are made from the programs, from their comments and their tested output, by
` + "`go generate ./...`" + `: what you read is what runs. Where an output depends on the day or the
machine, its page says so.

## The ladder

`

// ladder is how many rungs have the concepts of OpenRath's; what follows goes beyond.
const ladder = 11

func index(pages []*page) string {
	var b strings.Builder
	b.WriteString(indexHead)
	for _, p := range pages {
		if p.number == ladder+1 {
			b.WriteString("\n## Beyond the ladder\n\n")
		}
		fmt.Fprintf(&b, "%d. [%s](%s): %s\n", p.number, p.title, p.file(), p.synopsis)
	}
	b.WriteString("\nThe packages are a tour of their own, which begins at [rath](../../doc.go).\n")
	return b.String()
}

// between is how a page ends: the way to those before and after it.
func between(pages []*page, i int) string {
	var ways []string
	if i > 0 {
		ways = append(ways, "Before: "+pages[i-1].link())
	}
	ways = append(ways, "[All pages](README.md)")
	if i < len(pages)-1 {
		ways = append(ways, "Next: "+pages[i+1].link())
	}
	return "\n" + strings.Join(ways, " | ") + "\n"
}
