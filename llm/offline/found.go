package offline

import (
	"cmp"
	"regexp"
	"strings"
)

// found is what a pattern looked for and found, as it was written.
type found map[string]string

// match looks for what a rule's pattern does. last is the file that the request spoke of
// before, for which "it" stands.
func (r rule) match(part, last string) found {
	m := r.pattern.FindStringSubmatch(part)
	if m == nil {
		return nil
	}
	g := found{}
	for i, group := range r.pattern.SubexpNames() {
		if group != "" && m[i] != "" {
			g[group] = m[i]
		}
	}
	if g.vague() || !g.refer(last) {
		return nil
	}
	return g
}

// vagueRE begins what is a description, and not the text or the command itself.
var vagueRE = regexp.MustCompile(`(?i)^(?:(?:an?|the|all|some|my|your|our|me|every|any|what|how|out|about)\s|(?:for|it|its|them|this|that|these|those|something|anything|everything)\b)`)

func (g found) vague() bool {
	return vagueRE.MatchString(g["text"]) || vagueRE.MatchString(g["command"])
}

var (
	places  = []string{"file", "path", "dir", "files"}
	pronoun = regexp.MustCompile(`(?i)^(?:(?:it|them)|(?:(?:that|this|the|same)\s+)?file)$`)
)

// refer puts the last file in the place of "it". It is false if there is none.
func (g found) refer(last string) bool {
	for _, place := range places {
		switch {
		case !pronoun.MatchString(g[place]):
		case last != "":
			g[place] = `"` + last + `"`
		case !strings.EqualFold(g[place], "file"): // that can be a name
			return false
		}
	}
	return true
}

// last is the file or folder that was spoken of.
func (g found) last() string {
	if all := g.files(); len(all) == 1 {
		return all[0]
	}
	return unquote(cmp.Or(g["path"], g["dir"]))
}

func (g found) text() string {
	return unquote(cmp.Or(g["text"], g["quote"], g["command"], g["sum"], g["plain"], g["glob"], g["wild"]))
}

func (g found) file() string { return unquote(cmp.Or(g["file"], g["path"])) }

func (g found) files() []string { return names(cmp.Or(g["files"], g["file"])) }

// dir is the folder, the workspace if none was named.
func (g found) dir() string { return cmp.Or(unquote(g["dir"]), ".") }

// unit is what to count, in the singular.
func (g found) unit() string {
	unit := strings.TrimSuffix(strings.ToLower(g["unit"]), "s")
	if unit == "char" {
		return "character"
	}
	return unit
}

func unquote(text string) string {
	for _, q := range []string{`""`, "``", "''", "“”"} {
		r := []rune(q)
		if rest, ok := strings.CutPrefix(text, string(r[0])); ok && strings.HasSuffix(rest, string(r[1])) {
			return strings.TrimSuffix(rest, string(r[1]))
		}
	}
	return text
}

var nameRE = regexp.MustCompile("^(?:(?:the\\s+)?file\\s+)?(\"[^\"]+\"|`[^`]+`|'[^']+'|“[^”]+”|[^\\s,\"'`“”][^\\s,\"`“”]*)(?:\\s*,\\s*(?:and\\s+)?|\\s+and\\s+|$)")

// names parts "a.txt, b.txt and c.txt"; none if something else stands there.
func names(list string) (out []string) {
	for list != "" {
		m := nameRE.FindStringSubmatch(list)
		if m == nil {
			return nil
		}
		out, list = append(out, unquote(m[1])), list[len(m[0]):]
	}
	return out
}
