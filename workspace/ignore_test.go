package workspace

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIgnore(t *testing.T) {
	for _, test := range []struct {
		pattern, path string
		want          bool
	}{
		{"a", "a", true},
		{"a", "x/a", true},
		{"a", "ab", false},
		{"/a", "x/a", false},
		{"x/a", "x/a", true},
		{"x/a", "y/x/a", false},
		{"*.log", "x/y.log", true},
		{"*.log", ".log", true},
		{"x/*.log", "x/y/z.log", false},
		{"**/a", "a", true},
		{"**/a", "x/y/a", true},
		{"x/**/a", "x/a", true},
		{"x/**/a", "x/y/z/a", true},
		{"x/**", "x/y/z", true},
		{"x/**", "x", false},
		{"?.go", "a.go", true},
		{"?.go", "é.go", false}, // two bytes
		{"[ab].c", "b.c", true},
		{"[!ab].c", "b.c", false},
		{"[a-c]x", "bx", true},
		{"[]]", "]", true},
		{"[[:digit:]]", "7", true},
		{"[a-", "a", false},
		{`\!a`, "!a", true},
		{`\#a`, "#a", true},
		{"#a", "#a", false},
		{"a  ", "a", true},
		{`a\ `, "a ", true},
		{"a/", "a", false}, // it is a file here
		{"a\r", "a", true},
		{"\ufeffa", "a", true},
		{"a\n!a", "a", false},
		{"*\n!keep", "keep", false},
		{`back\\slash`, `back\slash`, true},
	} {
		ig := ignores(nil).with("", []byte(test.pattern))
		if got := ig.match(test.path, false); got != test.want {
			t.Errorf("%q on %q: ignored %v, want %v", test.pattern, test.path, got, test.want)
		}
	}
}

// TestIgnoreAsGit compares with what git says.
func TestIgnoreAsGit(t *testing.T) {
	dir := t.TempDir()
	git := func(in string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		cmd.Stdin = strings.NewReader(in)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil && cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("git %v: %v\n%s", args, err, &errs)
		}
		return string(out)
	}
	git("", "init", "-q")
	name := rapid.SampledFrom([]string{"a", "b", "ab", "a.c", "b.c", "-", "]", "!a", "a b", "1", "Ab", "\xe9", "a]", "^"})
	piece := rapid.SampledFrom([]string{"a", "b", "c", "*", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[[:alpha:]]", "[[:upper:]b]", `[\]]`, `\*`, "1", "-", "!", " ", `\ `, "]", ".c", "\xe9"})
	rapid.Check(t, func(t *rapid.T) {
		draw := func() string {
			var parts []string
			for range rapid.IntRange(1, 3).Draw(t, "components") {
				if rapid.IntRange(0, 4).Draw(t, "stars") == 0 {
					parts = append(parts, "**")
					continue
				}
				parts = append(parts, strings.Join(rapid.SliceOfN(piece, 1, 3).Draw(t, "pieces"), ""))
			}
			p := strings.Join(parts, "/")
			if strings.Contains(strings.ReplaceAll(p, "/**", ""), "**") && !strings.HasPrefix(p, "**/") {
				p = "a" // more asterisks than two, or two inside a name, are not specified
			}
			for _, affix := range []string{"/", "!"} {
				if rapid.IntRange(0, 3).Draw(t, "before") == 0 {
					p = affix + p
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "after") == 0 {
				p += "/"
			}
			return p
		}
		var lines []string
		for range rapid.IntRange(1, 5).Draw(t, "lines") {
			lines = append(lines, draw())
		}
		text := strings.Join(lines, "\n")
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var paths []string
		for range rapid.IntRange(1, 20).Draw(t, "paths") {
			paths = append(paths, strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "path"), "/"))
		}
		ig := ignores(nil).with("", []byte(text))
		out := "\x00" + git(strings.Join(paths, "\x00"), "check-ignore", "-z", "--stdin", "--no-index")
		for _, p := range paths {
			if got, want := ig.matchBelow(p, false), strings.Contains(out, "\x00"+p+"\x00"); got != want {
				t.Fatalf("%q: ignored %v, git says %v, by\n%s", p, got, want, text)
			}
		}
	})
}

func FuzzIgnore(f *testing.F) {
	f.Add("**/[a-]*\\", "a/b")
	f.Fuzz(func(t *testing.T, text, path string) {
		ignores(nil).with("", []byte(text)).match(path, false)
	})
}

func FuzzCache(f *testing.F) {
	c := &cache{id: ID(strings.Repeat("0", 64)), entries: map[string]cached{"a": {}, "ab": {}}}
	f.Add(c.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := decodeCache(data); err == nil && c == nil {
			t.Fatal("neither a cache nor an error")
		}
	})
}
