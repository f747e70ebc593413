package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	// goName is a name as the page has it, with the folder of its package.
	goName   = regexp.MustCompile(`^([a-z][a-z0-9]*(?:/[a-z0-9]+)*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?$`)
	folder   = regexp.MustCompile(`^[a-z][a-z0-9]*(/[a-z0-9]+)*$`)
	variable = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
	link     = regexp.MustCompile(`\]\(([^)]+)\)`)
	class    = regexp.MustCompile(`\.[A-Z]`)
)

// migration is the page.
type migration struct {
	rows    []row             // of the tables that map names
	prose   []string          // what is in no such table and no program
	fences  map[string]string // the first program of each language
	anchors []string          // of headings
}

// row is a line of a table: what OpenRath has, what Rath has, and what is to be said.
type row struct {
	line         int
	module       string // of the heading above; may be empty
	theirs, ours []string
	rest         string
}

func readMigration(t *testing.T) *migration {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/from-openrath.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := &migration{fences: map[string]string{}}
	var heading, fence string
	var fenced, table bool
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		language, marks := strings.CutPrefix(line, "```")
		switch {
		case marks:
			fenced, fence = !fenced, strings.TrimSpace(language)
		case fenced:
			m.fences[fence] += line
		case line[0] == '#':
			heading = ""
			if found := spans(line); len(found) > 0 {
				heading = found[0]
			}
			m.anchors = append(m.anchors, anchorOf(line))
		case line == "| OpenRath | Rath | |\n":
			table = true
		case table && strings.HasPrefix(line, "| "):
			cells := strings.Split(line, "|")
			m.rows = append(m.rows, row{number, heading, spans(cells[1]), spans(cells[2]), strings.Join(cells[3:], "|")})
		default:
			table = table && line[0] == '|'
			m.prose = append(m.prose, line)
		}
	}
	return m
}

// anchorOf is how a heading is linked to.
func anchorOf(heading string) string {
	kept := strings.Map(func(r rune) rune {
		if strings.ContainsRune("`.,:#", r) {
			return -1
		}
		return r
	}, heading)
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(kept)), " ", "-")
}

func spans(text string) (all []string) {
	for _, found := range codeSpan.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// names resolves what a row calls OpenRath's: "rath.flow.Agent" is whole, "Agent" belongs
// to the module of the name before it or of the heading, ".forward" and "(tools)" belong to the
// class before them.
func (r row) names() (all []string) {
	of, owner := r.module, ""
	for _, name := range r.theirs {
		if name[0] == '.' || name[0] == '(' {
			all = append(all, owner+name)
			continue
		}
		if strings.HasPrefix(name, "rath.") {
			of = moduleOf(name)
		} else if of != "" {
			name = of + "." + name
		}
		all = append(all, name)
		owner = name
		if member := strings.LastIndexAny(name, ".("); member > len(of) {
			owner = name[:member]
		}
	}
	return all
}

// moduleOf is what is in front of a class, or of the last part of a name.
func moduleOf(name string) string {
	if found := class.FindStringIndex(name); found != nil {
		return name[:found[0]]
	}
	return name[:strings.LastIndex(name, ".")]
}

// folders are those of packages that the page names.
func (m *migration) folders() (all []string) {
	lines := slices.Clone(m.prose)
	for _, r := range m.rows {
		all = append(all, r.ours...)
		lines = append(lines, r.rest)
	}
	all = append(all, spans(strings.Join(lines, "\n"))...)
	for i, name := range all {
		if found := goName.FindStringSubmatch(name); found != nil {
			all[i] = found[1]
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool {
		sources, err := filepath.Glob(filepath.Join(root, name, "*.go"))
		return err != nil || len(sources) == 0 || !folder.MatchString(name)
	})
}
