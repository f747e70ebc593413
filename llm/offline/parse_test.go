package offline

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func FuzzParse(f *testing.F) {
	for _, r := range rules {
		f.Add(r.example)
	}
	for _, s := range []string{"“”", `"" '' `, "then then", "read a, and b and ", "it", "run `", "count lines in the file", "write x in ./", "3×4÷2"} {
		f.Add(s)
	}
	tools := toolbox{{Name: readTool}, {Name: writeTool}, {Name: listTool}, {Name: findTool}, {Name: searchTool}, {Name: shellTool}}
	f.Fuzz(func(t *testing.T, asked string) {
		for _, stage := range parse(asked, tools) {
			if len(stage) == 0 {
				t.Errorf("%q has a stage without a step", asked)
			}
		}
		for _, part := range clauses(asked) {
			if !strings.Contains(asked, part) {
				t.Errorf("%q is no part of %q", part, asked)
			}
		}
		for _, name := range names(asked) {
			if name == "" || !strings.Contains(asked, name) {
				t.Errorf("%q is no name in %q", name, asked)
			}
		}
		if utf8.ValidString(asked) && !utf8.ValidString(trim(asked)) {
			t.Errorf("%q is trimmed to %q", asked, trim(asked))
		}
	})
}

func TestNames(t *testing.T) {
	for list, want := range map[string][]string{
		"a.txt": {"a.txt"}, "a, b and c": {"a", "b", "c"}, "a, and b": {"a", "b"}, `"a and b", 'c d'`: {"a and b", "c d"},
		"the file a and file b": {"a", "b"}, "a b": nil, "": nil, "it's": {"it's"}, `"a`: nil, ", a": nil,
	} {
		if diff := cmp.Diff(want, names(list)); diff != "" {
			t.Errorf("%q: %s", list, diff)
		}
	}
}

func TestTrim(t *testing.T) {
	for text, want := range map[string]string{
		"read a.txt.": "read a.txt", "please list .": "list .", "list ..": "list ..", "go vet ./...": "go vet ./...",
		"Can you please read a?": "read a", " ls ": "ls", "read a, please!": "read a", "1+(2)?": "1+(2)", "a ?!": "a ?!",
	} {
		if got := trim(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// What the shell counts is what would be counted here.
func TestCounters(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	dir := t.TempDir()
	for _, text := range []string{"", "\n", "a", "a b\nc\n", " \t\n a\r\n", "grüße 世界 🌍\n日本\v日\fx", "x\x00y z"} {
		for _, name := range []string{"f", "it's a file", "-n", "$(x)"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			want := map[string]int{"line": strings.Count(text, "\n"), "word": len(strings.Fields(text)), "byte": len(text), "character": utf8.RuneCountInString(text)}
			got := map[string]int{}
			for unit := range counters {
				cmd := exec.Command(sh, "-c", counter(unit, name))
				cmd.Dir = dir
				out, _ := cmd.Output() // grep is unhappy to count nothing
				if got[unit], err = strconv.Atoi(strings.TrimSpace(string(out))); err != nil {
					t.Errorf("%s gives %q", cmd, out)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q: %s", text, diff)
			}
		}
	}
}
