package builtin

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
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

// A pattern with many ** matches what trying everything would find, in no time.
func TestMatchesLikeTryingAll(t *testing.T) {
	var try func(globs, names []string) bool
	try = func(globs, names []string) bool {
		switch {
		case len(globs) == 0:
			return len(names) == 0
		case globs[0] == "**":
			return try(globs[1:], names) || len(names) > 0 && try(globs, names[1:])
		}
		return len(names) > 0 && matchPart(globs[0], names[0]) && try(globs[1:], names[1:])
	}
	rapid.Check(t, func(t *rapid.T) {
		globs := rapid.SliceOfN(rapid.SampledFrom([]string{"**", "a", "b", "*", "?b"}), 0, 7).Draw(t, "globs")
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 0, 7).Draw(t, "names")
		if got := matchParts(globs, names); got != try(globs, names) {
			t.Fatalf("%v", got)
		}
	})
	if matches(strings.Repeat("**/a/", 50)+"b", strings.Repeat("a/", 200)+"a") {
		t.Error("a path matches that does not end in b")
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
	f.Add(strings.Repeat("**/a/", 50)+"b", strings.Repeat("a/", 100))
	f.Fuzz(func(t *testing.T, glob, name string) {
		if matches(glob, name) && checkGlob(glob) != nil && !strings.Contains(glob, "/") {
			t.Fatalf("%q is malformed and matches %q", glob, name)
		}
	})
}
