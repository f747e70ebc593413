package workspace

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

// rule is a line of a .gitignore.
type rule struct {
	negated bool // "!": what it matches is not ignored after all
	dirOnly bool // "/" at the end
	base    bool // no "/" inside: the name alone counts, at any depth below
	match   func(string) bool
}

// ruleSet is the .gitignore of one directory.
type ruleSet struct {
	dir   string // "" is the root
	rules []rule
}

// ignores are the rule sets that apply to a directory's entries, outermost first.
type ignores []ruleSet

// with adds the rules of a directory. The receiver stays as it is.
func (ig ignores) with(dir string, text []byte) ignores {
	rules := parseIgnore(text)
	if len(rules) == 0 {
		return ig
	}
	return append(ig[:len(ig):len(ig)], ruleSet{dir, rules})
}

// match reports whether an entry is ignored by itself; whether a directory above it is
// must have been asked before. The last rule that matches decides.
func (ig ignores) match(name string, isDir bool) bool {
	base := path.Base(name)
	for i := len(ig) - 1; i >= 0; i-- {
		rel := name
		if dir := ig[i].dir; dir != "" {
			rel = strings.TrimPrefix(name, dir+"/")
		}
		for j := len(ig[i].rules) - 1; j >= 0; j-- {
			r := &ig[i].rules[j]
			if r.dirOnly && !isDir {
				continue
			}
			if r.base && r.match(base) || !r.base && r.match(rel) {
				return !r.negated
			}
		}
	}
	return false
}

// matchBelow asks the same of an entry and of all directories above it.
func (ig ignores) matchBelow(name string, isDir bool) bool {
	for i := range len(name) {
		if name[i] == '/' && ig.within(name[:i]).match(name[:i], true) {
			return true
		}
	}
	return ig.within(name).match(name, isDir)
}

// within leaves only the rule sets of directories that an entry is in.
func (ig ignores) within(name string) (in ignores) {
	for _, set := range ig {
		if set.dir == "" || strings.HasPrefix(name, set.dir+"/") {
			in = append(in, set)
		}
	}
	return in
}

// parseIgnore reads a .gitignore. Lines that can match nothing are dropped, as git does.
func parseIgnore(text []byte) (rules []rule) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for line := range strings.SplitSeq(string(text), "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseRule(line string) (r rule, ok bool) {
	if line == "" || line[0] == '#' {
		return r, false
	}
	line = trimSpaces(line)
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	r.base = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	r.match, ok = matcher(line)
	return r, ok
}

// trimSpaces cuts spaces at the end that no backslash protects.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if line[i] == ' ' {
			continue
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// matcher makes a pattern a function. Most are a plain name or "*.ext", and cost no more
// than a comparison.
func matcher(pattern string) (func(string) bool, bool) {
	const special = `*?[\`
	if !strings.ContainsAny(pattern, special) {
		return func(name string) bool { return name == pattern }, true
	}
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok && !strings.ContainsAny(suffix, special) && !strings.Contains(suffix, "/") {
		return func(name string) bool {
			return strings.HasSuffix(name, suffix) && strings.IndexByte(name[:len(name)-len(suffix)], '/') < 0
		}, true
	}
	text, ok := translate(pattern)
	if !ok {
		return nil, false
	}
	re, err := regexp.Compile(`(?s)\A(?:` + text + `)\z`)
	if err != nil {
		return nil, false
	}
	return func(name string) bool { return re.MatchString(latin1(name)) }, true
}

// latin1 makes each byte a character: patterns are about bytes.
func latin1(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			runes := make([]rune, len(s))
			for i := range len(s) {
				runes[i] = rune(s[i])
			}
			return string(runes)
		}
	}
	return s
}

// translate makes a pattern a regular expression. It fails for one that matches nothing.
func translate(p string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(p); {
		switch c := p[i]; c {
		case '*':
			n := len(p[i:]) - len(strings.TrimLeft(p[i:], "*"))
			i = stars(&b, p, i, n)
		case '?':
			b.WriteString(`[^/]`)
			i++
		case '[':
			end, ok := class(&b, p, i)
			if !ok {
				return "", false
			}
			i = end
		case '\\':
			if i++; i == len(p) {
				return "", false
			}
			fallthrough
		default:
			b.WriteString(regexp.QuoteMeta(latin1(p[i : i+1])))
			i++
		}
	}
	return b.String(), true
}

// stars translates n asterisks at p[i:] and returns where to go on. Two that stand for
// whole components match any number of them.
func stars(b *strings.Builder, p string, i, n int) int {
	end := i + n
	whole := n > 1 && (i == 0 || p[i-1] == '/')
	switch {
	case whole && end == len(p):
		b.WriteString(`.*`)
	case whole && p[end] == '/':
		b.WriteString(`(?:.*/)?`)
		end++
	default:
		b.WriteString(`[^/]*`)
	}
	return end
}

// class translates a bracket expression at p[i:] and returns its end. It is written out as
// the set of bytes that it matches; a "/" is never one.
func class(b *strings.Builder, p string, i int) (end int, ok bool) {
	var set [256]bool
	i++
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	for first := true; ; first = false {
		if i >= len(p) {
			return 0, false
		}
		if p[i] == ']' && !first {
			break
		}
		if i, ok = member(&set, p, i); !ok {
			return 0, false
		}
	}
	b.WriteByte('[')
	n := 0
	for c := range set {
		if set[c] != negated && c != '/' {
			n++
			b.WriteString(`\x{` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]) + `}`)
		}
	}
	if b.WriteByte(']'); n == 0 {
		return 0, false
	}
	return i + 1, true
}

// member adds what stands at p[i:] in a bracket expression: a character, a range or a
// named class.
func member(set *[256]bool, p string, i int) (next int, ok bool) {
	if strings.HasPrefix(p[i:], "[:") {
		if n := strings.Index(p[i+2:], "]"); n > 0 && p[i+2+n-1] == ':' {
			in, known := classes[p[i+2:i+2+n-1]]
			for c := range set {
				set[c] = set[c] || known && in(byte(c))
			}
			return i + 2 + n + 1, known
		}
	}
	low, i, ok := character(p, i)
	if !ok {
		return 0, false
	}
	high := low
	if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
		if high, i, ok = character(p, i+1); !ok {
			return 0, false
		}
		set[low] = true
	}
	for c := int(low); c <= int(high); c++ {
		set[c] = true
	}
	return i, true
}

func character(p string, i int) (c byte, next int, ok bool) {
	if i < len(p) && p[i] == '\\' {
		i++
	}
	if i >= len(p) {
		return 0, 0, false
	}
	return p[i], i + 1, true
}

func between(low, high byte) func(byte) bool {
	return func(c byte) bool { return low <= c && c <= high }
}

func either(fs ...func(byte) bool) func(byte) bool {
	return func(c byte) bool {
		for _, f := range fs {
			if f(c) {
				return true
			}
		}
		return false
	}
}

var (
	digit = between('0', '9')
	upper = between('A', 'Z')
	lower = between('a', 'z')
	alnum = either(digit, upper, lower)
	graph = between('!', '~')

	classes = map[string]func(byte) bool{
		"alnum": alnum, "alpha": either(upper, lower), "digit": digit,
		"upper": upper, "lower": lower, "graph": graph, "print": between(' ', '~'),
		"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
		"space":  func(c byte) bool { return strings.IndexByte(" \t\n\v\f\r", c) >= 0 },
		"punct":  func(c byte) bool { return graph(c) && !alnum(c) },
		"cntrl":  either(between(0, 0x1f), between(0x7f, 0x7f)),
		"xdigit": either(digit, between('a', 'f'), between('A', 'F')),
	}
)
