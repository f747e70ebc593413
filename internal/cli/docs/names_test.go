package docs_test

import (
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openrath-go/rath/internal/cli"
)

// names are what Rath has.
type names struct {
	t        *testing.T
	packages map[string]*types.Package // by their folders
	sources  string                    // of the packages that read the environment
}

// load reads the exported names of packages from what the compiler keeps of them.
func load(t *testing.T, folders []string) *names {
	t.Helper()
	n := &names{t: t, packages: map[string]*types.Package{}}
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}")
	for _, dir := range folders {
		list.Args = append(list.Args, "./"+dir)
	}
	list.Dir = root
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	for path, file := range files {
		if dir, ours := strings.CutPrefix(path, module+"/"); ours && file != "" {
			if n.packages[dir], err = imports.Import(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{"internal/cli", "internal/config"} {
		sources, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range slices.DeleteFunc(sources, func(f string) bool { return strings.HasSuffix(f, "_test.go") }) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n.sources += string(text)
		}
	}
	return n
}

// check reports whether a text is a name of Rath's, and what is wrong with one that
// looks like it.
func (n *names) check(text string) (known bool, err error) {
	if found := goName.FindStringSubmatch(text); found != nil && n.packages[found[1]] != nil {
		return true, exported(n.packages[found[1]], found[2], found[3])
	}
	switch {
	case strings.HasPrefix(text, "rath "):
		return true, n.command(strings.Fields(text)[1:])
	case variable.MatchString(text):
		return strings.Contains(n.sources, `"`+text+`"`), nil
	}
	return n.packages[text] != nil, nil
}

func exported(p *types.Package, name, member string) error {
	object := p.Scope().Lookup(name)
	if object == nil {
		return fmt.Errorf("package %s has no %s", p.Path(), name)
	}
	if member == "" {
		return nil
	}
	if _, ok := object.(*types.TypeName); !ok {
		return fmt.Errorf("%s is no type", name)
	}
	if found, _, _ := types.LookupFieldOrMethod(object.Type(), true, p, member); found == nil {
		return fmt.Errorf("%s has no %s", name, member)
	}
	return nil
}

// command checks the command and the flags of a command line by what its help says.
func (n *names) command(args []string) error {
	if args[0] == "help" {
		args = args[1:]
	}
	help, end := "", 0
	for end < len(args) && args[end][0] != '-' { // what is no command is an argument
		text, ok := n.help(args[:end+1])
		if !ok {
			break
		}
		help, end = text, end+1
	}
	rest := args[end:]
	if end == 0 || strings.Contains(help, "Available Commands:") && len(rest) > 0 && rest[0][0] != '-' {
		return errors.New("there is no such command")
	}
	for _, arg := range rest {
		if name, _, _ := strings.Cut(arg, "="); name[0] == '-' && !strings.Contains(help, " "+name+" ") && !strings.Contains(help, " "+name+",") {
			return fmt.Errorf("it has no flag %s", name)
		}
	}
	return nil
}

// help is what the command says of one, if there is one.
func (n *names) help(args []string) (string, bool) {
	n.t.Helper()
	file, err := os.Create(filepath.Join(n.t.TempDir(), "help"))
	if err != nil {
		n.t.Fatal(err)
	}
	defer file.Close()
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, file
	code := cli.Main(append([]string{"help"}, args...))
	os.Stdout, os.Stderr = stdout, stderr
	text, err := os.ReadFile(file.Name())
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text), code == 0
}
