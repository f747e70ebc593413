package resource

import (
	"path"
	"strings"

	"github.com/openrath-go/rath/memory/driver"
)

// ignores are the lines of .gitignore files, outermost first. What they name is what nobody
// wrote, or nobody is to read.
type ignores []pattern

type pattern struct {
	dir     string   // that the file is in: "." is the folder
	parts   []string // of the name below it; "**" stands for any number
	negated bool
	dirOnly bool
}

// The limits of what a folder may say of itself: every pattern is compared with every name.
const (
	maxPatterns = 2000 // that count in one folder, with those of the folders above it
	maxPattern  = 256  // bytes
)

// above returns the rules of the folders that a folder is in.
func (ig ignores) above(dir string) (all ignores) {
	for _, p := range ig {
		if p.dir == "." || strings.HasPrefix(dir, p.dir+"/") {
			all = append(all, p)
		}
	}
	return all
}

// add returns the rules with those of another file. The receiver stays as it is.
func (ig ignores) add(dir string, text []byte) (ignores, error) {
	ig = ig[:len(ig):len(ig)]
	for line := range strings.SplitSeq(string(text), "\n") {
		p := pattern{dir: path.Clean(dir)}
		line = strings.TrimRight(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		if len(line) > maxPattern || len(ig) == maxPatterns {
			return ig, failed(driver.ErrInvalid, "there are more than %d patterns, or one is longer than %d bytes", maxPatterns, maxPattern)
		}
		line, p.negated = strings.CutPrefix(line, "!")
		line, p.dirOnly = strings.CutSuffix(line, "/")
		if !strings.Contains(line, "/") {
			line = "**/" + line
		}
		p.parts = strings.Split(strings.TrimPrefix(line, "/"), "/")
		ig = append(ig, p)
	}
	return ig, nil
}

// match reports whether a name is ignored by itself: the last rule that fits decides.
func (ig ignores) match(name string, isDir bool) bool {
	for i := len(ig) - 1; i >= 0; i-- {
		p := ig[i]
		below, in := strings.CutPrefix(name, p.dir+"/")
		if p.dir == "." {
			below, in = name, true
		}
		if in && (isDir || !p.dirOnly) && p.fits(below) {
			return !p.negated
		}
	}
	return false
}

// fits is quick for the patterns that most are: of a name in any folder.
func (p pattern) fits(name string) bool {
	if len(p.parts) == 2 && p.parts[0] == "**" && p.parts[1] != "**" {
		ok, _ := path.Match(p.parts[1], path.Base(name))
		return ok
	}
	return fits(p.parts, strings.Split(name, "/"))
}

// fits compares part by part. The states of the parts that came before are kept, so that
// many "**" cost no more than one.
func fits(pattern, name []string) bool {
	at := make([]bool, len(pattern)+1)
	at[0] = true
	skip(pattern, at)
	for _, part := range name {
		next := make([]bool, len(at))
		for i, p := range pattern {
			switch {
			case !at[i]:
			case p == "**":
				next[i] = true
			default:
				// A pattern that cannot be read fits nothing.
				if ok, _ := path.Match(p, part); ok {
					next[i+1] = true
				}
			}
		}
		skip(pattern, next)
		at = next
	}
	return at[len(pattern)]
}

// skip lets "**" stand for nothing, but for the last, which is all that is below.
func skip(pattern []string, at []bool) {
	for i, p := range pattern {
		if at[i] && p == "**" {
			at[i+1] = true
		}
	}
}
