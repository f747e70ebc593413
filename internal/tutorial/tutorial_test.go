package tutorial

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

// What is committed is what is made, and nothing else is there.
func TestNothingHasDrifted(t *testing.T) {
	files, err := Make(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if diff := cmp.Diff(read(t, name), want); diff != "" {
			t.Errorf("%s (-committed +made): run go generate ./internal/tutorial\n%s", name, diff)
		}
	}
	there, err := filepath.Glob(filepath.Join(root, "docs/tutorial/*"))
	if err != nil || len(there) != len(files)-1 {
		t.Errorf("%d files are made, there are %q, %v", len(files)-1, there, err)
	}
}

var links = regexp.MustCompile(`\]\(([^)]+)\)`)

// Every link leads to what is there, and llms.txt to every document.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs/tutorial/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(pages, filepath.Join(root, "llms.txt")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := links.FindAllStringSubmatch(string(data), -1)
		if len(all) < 3 {
			t.Errorf("%s has only the links %q", file, all)
		}
		for _, l := range all {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), l[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	llms := read(t, "llms.txt")
	for _, pattern := range []string{"docs/*.md", "docs/*.json", "docs/formats/*.md", "docs/tutorial/*.md"} {
		documents, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(documents) == 0 {
			t.Errorf("%s: %q, %v", pattern, documents, err)
		}
		for _, d := range documents {
			name, _ := filepath.Rel(root, d)
			if !strings.Contains(llms, "]("+filepath.ToSlash(name)+")") {
				t.Errorf("llms.txt does not name %s", name)
			}
		}
	}
}

// The packages are a tour: each has a comment that says which is next, and a runnable example.
func TestTour(t *testing.T) {
	tour, err := Tour(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(tour) < 37 || tour[1].Path != "session" || tour[5].Path != "flow" {
		t.Errorf("the tour is %v", tour)
	}
	for _, p := range tour {
		if name := path.Base(p.Path); !strings.HasPrefix(p.Doc, "Package ") || p.Path != "." && !strings.HasPrefix(p.Doc, "Package "+name+" ") {
			t.Errorf("%s has the comment %q", p.Path, p.Doc)
		}
		examples := examplesOf(t, p.Path)
		runs := slices.ContainsFunc(examples, func(e *doc.Example) bool { return e.Output != "" })
		if len(examples) == 0 || !runs && !needsMore(p.Path) {
			t.Errorf("%s has no example with output", p.Path)
		}
	}
}

// needsMore reports whether an example needs what is not everywhere: a *testing.T, or an engine.
func needsMore(p string) bool { return strings.HasSuffix(p, "test") || p == "sandbox/docker" }

func examplesOf(t *testing.T, dir string) []*doc.Example {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return doc.Examples(files...)
}

// A page is prose where the source has comments, and code where it has code.
func TestPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "07_greet")
	source := "// Greeting: a [flow.Agent] says hello. That is all.\npackage main\n\nimport (\n\t\"fmt\"\n\n\t\"" + module + "/flow\"\n)\n\n" +
		"// main says it:\n//\n//\tgo run .\nfunc main() {\n\t// not prose\n\tfmt.Println(\"hello\")\n}\n"
	for name, text := range map[string]string{
		"main.go": source, "main_test.go": "package main\n\n// The name is\n// another each day.\nfunc Example() {\n\tmain()\n\t// Output:\n\t// hello\n\t//\n\t//   you\n}\n",
	} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := readPage(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := `<!-- Made by go generate from examples/07_greet: change it there. -->

# 7. Greeting

A [flow.Agent](../../flow) says hello. That is all.

` + "`main`" + ` says it:

	go run .

` + "```go" + `
func main() {
	// not prose
	fmt.Println("hello")
}
` + "```" + `

## What it shows

` + "```sh" + `
go run ./examples/07_greet
` + "```" + `

The name is
another each day.

` + "```text" + `
hello

  you
` + "```" + `

The source is [examples/07_greet/main.go](../../examples/07_greet/main.go). It uses the packages [flow](../../flow).
`
	if diff := cmp.Diff(want, p.markdown()); diff != "" {
		t.Error(diff)
	}
	if p.synopsis != "a `flow.Agent` says hello." {
		t.Errorf("the first sentence is %q", p.synopsis)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readPage(dir); err == nil || !strings.Contains(err.Error(), "Title") {
		t.Errorf("without a title: %v", err)
	}
}
