package tutorial

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Package is a package that others may import.
type Package struct {
	Path string // below the module; "." is the module's own
	File string // where its comment is, below the module; empty: it has none
	Doc  string
	Next string // the path of the package that its comment says is next; empty: none
}

func (p Package) name() string {
	if p.Path == "." {
		return path.Base(module)
	}
	return p.Path
}

// synopsis is the comment's first sentence, without "Package flow", and without links.
func (p Package) synopsis() string {
	_, text, _ := strings.Cut(new(doc.Package).Synopsis(p.Doc), " ")
	_, text, _ = strings.Cut(text, " ")
	return strings.NewReplacer("[*", "", "[", "", "]", "", module+"/", "").Replace(text)
}

// Tour is the module's packages in the order of their comments, each of which names the next.
// It begins with the module's own.
func Tour(root string) (tour []Package, err error) {
	all, err := Packages(root)
	if err != nil {
		return nil, err
	}
	for next, more := ".", true; more; {
		i := slices.IndexFunc(all, func(p Package) bool { return p.Path == next })
		if i < 0 {
			return tour, fmt.Errorf("the tour goes on with %s, which is no package or was there before", next)
		}
		tour = append(tour, all[i])
		next, more = all[i].Next, all[i].Next != ""
		all = slices.Delete(all, i, i+1)
	}
	if len(all) > 0 {
		return tour, fmt.Errorf("the tour ends at %s, before it came to %s", tour[len(tour)-1].Path, all[0].Path)
	}
	return tour, nil
}

// skipped are the folders that have no packages for others.
var skipped = []string{"internal", "cmd", "examples", "bench", "tools", "docs", "testdata"}

// Packages are all packages of the module that others may import, and that are no programs.
func Packages(root string) (all []Package, err error) {
	err = filepath.WalkDir(root, func(dir string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if dir != root && (slices.Contains(skipped, e.Name()) || strings.HasPrefix(e.Name(), ".")) {
			return fs.SkipDir
		}
		p, found, err := readPackage(root, dir)
		if found {
			all = append(all, p)
		}
		return err
	})
	return all, err
}

var nextLink = regexp.MustCompile(`\nNext: \[` + module + `/([\w/]+)\]`)

func readPackage(root, dir string) (p Package, found bool, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return p, false, err
	}
	rel, err := filepath.Rel(root, dir)
	p.Path = filepath.ToSlash(rel)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		var f *ast.File
		if f, err = parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments); err != nil {
			return p, false, err
		}
		found = f.Name.Name != "main"
		if f.Doc != nil && p.Doc == "" {
			p.Doc, p.File = f.Doc.Text(), path.Join(p.Path, filepath.Base(file))
		}
	}
	if m := nextLink.FindStringSubmatch("\n" + p.Doc); m != nil {
		p.Next = m[1]
	}
	return p, found, err
}
