// Package docs_test keeps docs/from-openrath.md true: it names every public name of
// OpenRath, and what it names here is there.
package docs_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	root   = "../../.."
	module = "github.com/openrath-go/rath"
)

func TestFromOpenRathNamesAll(t *testing.T) {
	text, err := os.ReadFile("testdata/openrath.txt")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if name := strings.TrimSpace(line); name != "" && name[0] != '#' {
			missing[strings.Fields(name)[0]] = true
		}
	}
	if len(missing) < 1000 {
		t.Fatalf("there are only %d names", len(missing))
	}
	seen := map[string]int{}
	for _, r := range readMigration(t).rows {
		for _, name := range r.names() {
			switch {
			case !strings.HasPrefix(name, "rath."): // a program, under a heading without a module
			case seen[name] > 0:
				t.Errorf("line %d: %s is in line %d already", r.line, name, seen[name])
			case !missing[name]:
				t.Errorf("line %d: OpenRath has no %s", r.line, name)
			}
			seen[name] = r.line
			delete(missing, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s is missing", name)
	}
}

func TestFromOpenRathNamesWhatIsThere(t *testing.T) {
	page := readMigration(t)
	ours := load(t, page.folders())
	for _, r := range page.rows {
		for _, name := range r.ours {
			if known, err := ours.check(name); err != nil {
				t.Errorf("line %d: %s: %v", r.line, name, err)
			} else if !known {
				t.Errorf("line %d: %s is no name of Go, no folder, command or variable", r.line, name)
			}
		}
		page.prose = append(page.prose, r.rest)
	}
	for _, line := range page.prose {
		for _, name := range spans(line) { // what else stands there is not Rath's
			if _, err := ours.check(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestFromOpenRathLinks(t *testing.T) {
	page := readMigration(t)
	for _, r := range page.rows {
		page.prose = append(page.prose, r.rest)
	}
	for _, found := range link.FindAllStringSubmatch(strings.Join(page.prose, "\n"), -1) {
		if to, ok := strings.CutPrefix(found[1], "#"); ok {
			if !slices.Contains(page.anchors, to) {
				t.Errorf("there is no heading for #%s", to)
			}
		} else if _, err := os.Stat(filepath.Join(root, "docs", found[1])); err != nil {
			t.Error(err)
		}
	}
}

// The program on the page is run, and does what the page says.
func TestFromOpenRathProgram(t *testing.T) {
	page := readMigration(t)
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(page.fences["go"]), 0o600); err != nil {
		t.Fatal(err)
	}
	program := exec.Command("go", "run", file)
	program.Dir = root
	out, err := program.CombinedOutput()
	if diff := cmp.Diff(page.fences["text"], string(out)); err != nil || diff != "" {
		t.Errorf("go run: %v\n%s", err, diff)
	}
}
