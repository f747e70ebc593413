package builtin

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		glob, name string
		want       bool
	}{
		{"*.go", "a/b/c.go", true}, {"*.go", "c.goo", false}, {"a/*.go", "a/c.go", true}, {"a/*.go", "a/b/c.go", false},
		{"**/*.go", "c.go", true}, {"**/*.go", "a/b/c.go", true}, {"a/**", "a/b/c", true}, {"a/**/c", "a/c", true},
		{"a/**/c", "a/b/b/c", true}, {"a/**/c", "b/c", false}, {"./a/b", "a/b", true}, {"[", "x", false},
	} {
		if got := matches(test.glob, test.name); got != test.want {
			t.Errorf("%s %s: %v", test.glob, test.name, got)
		}
	}
}

func FuzzReplace(f *testing.F) {
	f.Add("a\nb\na", "b", "c")
	f.Fuzz(func(t *testing.T, text, old, new string) {
		out, line, err := replace(text, old, new)
		if n := strings.Count(text, old); (err == nil) != (n == 1 && old != "") {
			t.Fatalf("%d occurrences, %v", n, err)
		}
		if err == nil && (out != strings.Replace(text, old, new, 1) || line < 1) {
			t.Fatalf("%q on line %d", out, line)
		}
	})
}

func FuzzMatches(f *testing.F) {
	f.Add("**/**/*a", "x/y/za")
	f.Fuzz(func(t *testing.T, glob, name string) {
		if strings.Count(glob, "**") > 6 || len(glob)+len(name) > 200 {
			return
		}
		if matches(glob, name) && checkGlob(glob) != nil && !strings.Contains(glob, "/") {
			t.Fatalf("%q is malformed and matches %q", glob, name)
		}
	})
}
