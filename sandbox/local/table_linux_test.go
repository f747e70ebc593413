package local_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the table in docs/security.md")

const (
	tableBegin = "<!-- attempts: go test ./sandbox/local -run TestEscape -update -->\n"
	tableEnd   = "<!-- end -->\n"
	openBegin  = "## What is not stopped\n"
)

// document is docs/security.md.
type document struct {
	name, before, after string
	rows                results
}

func readTable(t *testing.T) *document {
	t.Helper()
	d := &document{name: filepath.Join("..", "..", "docs", "security.md"), rows: results{}}
	data, err := os.ReadFile(d.name)
	must(t, err)
	before, rest, ok := strings.Cut(string(data), tableBegin)
	table, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		t.Fatalf("%s has no table between %q and %q", d.name, tableBegin, tableEnd)
	}
	d.before, d.after = before, after
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 2+len(columns()) {
			continue
		}
		for i, col := range columns() {
			d.rows.set(strings.TrimSpace(cells[1]), col, strings.Trim(strings.TrimSpace(cells[i+2]), "*"))
		}
	}
	return d
}

func columns() (all []string) {
	for _, level := range levels {
		for _, user := range users {
			all = append(all, column(level, user))
		}
	}
	return all
}

// names are those of all attempts with their kinds, kind by kind.
func names() (all [][2]string) {
	for _, k := range inside {
		for _, a := range k.attempts {
			all = append(all, [2]string{k.name, a.name})
		}
		for _, a := range byTools {
			if a.kind == k.name {
				all = append(all, [2]string{a.kind, a.name})
			}
		}
		for _, d := range drains {
			if d.kind == k.name {
				all = append(all, [2]string{d.kind, d.name})
			}
		}
	}
	all = append(all, [2]string{"processes left behind", "outlive a cancelled command"}, [2]string{"processes left behind", "outlive the sandbox"})
	for _, d := range drains {
		if !slices.Contains(all, [2]string{d.kind, d.name}) {
			all = append(all, [2]string{d.kind, d.name})
		}
	}
	return all
}

func kindOf(name string) string {
	for _, n := range names() {
		if n[1] == name {
			return n[0]
		}
	}
	return ""
}

// compare has each side know nothing that the other does not.
func (d *document) compare(t *testing.T, seen results) {
	t.Helper()
	var want []string
	for _, n := range names() {
		want = append(want, n[1])
	}
	got := slices.Collect(maps.Keys(d.rows))
	got = slices.DeleteFunc(got, func(name string) bool { return name == "attempt" || strings.HasPrefix(name, "---") })
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attempts in %s (-made +written)\n%s", d.name, diff)
	}
	if len(slices.Compact(want)) < 60 {
		t.Errorf("%d attempts are fewer than 60", len(want))
	}
	for name, row := range seen {
		for col, result := range row {
			if written := d.rows[name][col]; result != unknown && written != unknown && written != result {
				t.Errorf("%s (%s): %s, but %s says %q", name, col, result, d.name, written)
			}
		}
	}
	d.compareOpen(t)
}

var bold = regexp.MustCompile(`\*\*(.+?)\*\*`)

// compareOpen has the text name every attempt that a level other than "host" does not
// stop, and no other.
func (d *document) compareOpen(t *testing.T) {
	t.Helper()
	open := map[string]bool{}
	for name, row := range d.rows {
		for _, level := range confined {
			for _, user := range users {
				if row[column(level, user)] == notStopped {
					open[name] = true
				}
			}
		}
	}
	_, text, _ := strings.Cut(d.before, openBegin)
	text, _, _ = strings.Cut(text, "\n## ")
	explained := map[string]bool{}
	for _, m := range bold.FindAllStringSubmatch(text, -1) {
		explained[m[1]] = true
	}
	if diff := cmp.Diff(open, explained); diff != "" {
		t.Errorf("attempts that are not stopped, in %s under %q (-table +text)\n%s", d.name, strings.TrimSpace(openBegin), diff)
	}
}

// write puts what was seen into the table. What could not be tried stays as it is.
func (d *document) write(t *testing.T, seen results) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| kind | attempt | " + strings.Join(columns(), " | ") + " |\n|---|---" + strings.Repeat("|---", len(columns())) + "|\n")
	rows, last := results{}, ""
	for _, n := range names() {
		kind, name := n[0], n[1]
		if kind == last {
			kind = ""
		} else {
			last = kind
		}
		fmt.Fprintf(&b, "| %s | %s |", kind, name)
		for _, col := range columns() {
			result := seen[name][col]
			if result == "" || result == unknown {
				result = d.rows[name][col]
			}
			if result == "" {
				result = unknown
			}
			rows.set(name, col, result)
			if result == notStopped {
				result = "**" + result + "**"
			}
			fmt.Fprintf(&b, " %s |", result)
		}
		b.WriteString("\n")
	}
	d.rows = rows
	must(t, os.WriteFile(d.name, []byte(d.before+tableBegin+b.String()+tableEnd+d.after), 0o644))
}
