package policy

import (
	"path"
	"strings"
)

// unseen stands in a text for what cannot be told: any text, also none.
const unseen = '\x00'

// matches reports whether a text is what a pattern says, where * stands for any text.
func matches(pattern, text string) bool {
	ok, _ := compare(pattern, text)
	return ok
}

// compare reports whether a text is what a pattern says; and whether it could be, given
// that what is unseen in it could be anything, the rest from there on included.
func compare(pattern, text string) (is, could bool) {
	p := []rune(pattern)
	at := map[int]bool{0: true} // how much of the pattern may be behind us
	skip := func() {
		for i := range p {
			if at[i] && p[i] == '*' {
				at[i+1] = true
			}
		}
	}
	skip()
	for _, r := range text {
		if r == unseen && len(at) > 0 {
			could = true
		}
		next := map[int]bool{}
		for i := range at {
			switch {
			case i < len(p) && p[i] == '*':
				next[i] = true
			case i < len(p) && p[i] == r:
				next[i+1] = true
			}
		}
		at = next
		skip()
	}
	return at[len(p)], could || at[len(p)]
}

func matchesCommand(pattern, text string) bool {
	short, ok := strings.CutSuffix(pattern, " *")
	return matches(pattern, text) || ok && matches(short, text)
}

func couldMatchCommand(pattern, text string) bool {
	short, ok := strings.CutSuffix(pattern, " *")
	_, could := compare(pattern, text)
	if ok && !could {
		_, could = compare(short, text)
	}
	return could
}

// matchesPath reports whether a glob matches a slash path: ** stands for any number of
// folders; a glob without a slash is matched against the last name alone.
func matchesPath(glob, name string) bool {
	glob = strings.TrimPrefix(glob, "./")
	if glob != "**" && !strings.Contains(glob, "/") {
		return matches(glob, path.Base(name))
	}
	var names []string
	if name != "." {
		names = strings.Split(name, "/")
	}
	return matchesNames(strings.Split(glob, "/"), names)
}

func matchesNames(globs, names []string) bool {
	switch {
	case len(globs) == 0:
		return len(names) == 0
	case globs[0] == "**":
		return matchesNames(globs[1:], names) || len(names) > 0 && matchesNames(globs, names[1:])
	}
	return len(names) > 0 && matches(globs[0], names[0]) && matchesNames(globs[1:], names[1:])
}
