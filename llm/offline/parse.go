package offline

import (
	"regexp"
	"strings"
)

// The parts that patterns are made of: a quoted text, and a file's name with or without
// quotes.
const (
	quoted = "(?:\"([^\"]*)\"|`([^`]*)`|'([^']*)'|“([^”]*)”)"
	named  = "(?:\"([^\"]+)\"|`([^`]+)`|'([^']+)'|(\\S+?))"
	end    = `\s*[.?!]*\s*$`
	inDir  = `(?:\s+(?:in|under|of|inside)\s+(?:the\s+)?(?:folder\s+|directory\s+)?` + named + `)?`
	theDoc = `(?:the\s+)?(?:contents?\s+of\s+)?(?:the\s+)?(?:file\s+|text\s+of\s+)?`
)

// rule recognises one kind of request. The groups it is given are the texts that were
// found, in order, quotes gone.
type rule struct {
	pattern *regexp.Regexp
	needs   string // tool; empty: none
	steps   func(groups []string) []step
}

func re(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?is)^\s*` + pattern + end) }

var units = map[string]string{"words": "word", "word": "word", "lines": "line", "line": "line", "bytes": "byte", "byte": "byte", "characters": "character", "chars": "character"}

var rules = []rule{
	{re(`(?:count|how many|tell me how many|what is the number of)\s+(?:the\s+)?(?:number\s+of\s+)?(words?|lines?|bytes?|characters|chars)\s+(?:are\s+)?(?:there\s+)?(?:in|of|does|has)\s+` + theDoc + `(.+?)(?:\s+(?:have|has|contain))?`), readTool,
		func(g []string) (steps []step) {
			for _, name := range names(g[1]) {
				steps = append(steps, count(units[strings.ToLower(g[0])], name))
			}
			return steps
		}},
	{re(`(?:count|how often|how many times)\s+(?:is\s+|does\s+|the\s+)?(?:occurrences\s+of\s+)?` + quoted + `\s+(?:occurs?\s+|appears?\s+)?in\s+` + theDoc + named), readTool,
		func(g []string) []step { return []step{countText(g[0], g[1])} }},
	{re(`(?:search|grep|look)\s+(?:for\s+)?(?:the\s+(?:text|word|string)\s+)?` + named + inDir), searchTool,
		func(g []string) []step { return []step{search(g[0], orHere(g))} }},
	{re(`(?:write|put|save)\s+` + quoted + `\s+(?:to|into|in)\s+(?:a\s+|the\s+)?(?:new\s+)?(?:file\s+)?(?:called\s+|named\s+)?` + named), writeTool,
		func(g []string) []step { return []step{write(g[1], g[0])} }},
	{re(`(?:create|make|write)\s+(?:a\s+|the\s+)?(?:new\s+)?(?:file\s+)?(?:called\s+|named\s+)?` + named + `\s+(?:with|containing|that says)\s+(?:the\s+)?(?:content|contents|text)?\s*:?\s*` + quoted), writeTool,
		func(g []string) []step { return []step{write(g[0], g[1])} }},
	{re(`(?:run|execute)\s+(?:the\s+)?(?:shell\s+)?(?:command\s+)?(?:` + quoted + `|:\s*(.+?))`), shellTool,
		func(g []string) []step { return []step{shell(g[0])} }},
	{re(`(?:compute|calculate|evaluate|what is|what's|how much is)\s+([-+*/^().\d\s]+?)\s*=?`), "",
		func(g []string) []step { return []step{compute(g[0])} }},
	{re(`(?:list|ls|show|what are)\s+(?:me\s+)?(?:all\s+)?(?:the\s+)?(?:files|entries|everything)(?:\s+and\s+folders)?` + inDir), listTool,
		func(g []string) []step { return []step{list(orDot(g, 0))} }},
	{re(`(?:list|ls)\s+(?:the\s+)?(?:folder\s+|directory\s+)?` + named), listTool,
		func(g []string) []step { return []step{list(g[0])} }},
	{re(`(?:find|locate)\s+(?:all\s+)?(?:the\s+)?(?:files?\s+)?(?:matching\s+|named\s+|called\s+)?` + named + `(?:\s+files)?` + inDir), findTool,
		func(g []string) []step { return []step{find(g[0], orHere(g))} }},
	{re(`(?:read|show|print|cat|open|display)\s+(?:me\s+)?` + theDoc + `(.+?)(?:\s+(?:back|aloud))?`), readTool,
		func(g []string) (steps []step) {
			for _, name := range names(g[0]) {
				steps = append(steps, read(name))
			}
			return steps
		}},
	{re(`(?:help|what can you do|who are you|what are you)`), "", func([]string) []step { return nil }},
}

var then = regexp.MustCompile(`(?i)(?:\s*[,;.]\s*(?:and\s+)?then\s+|\s+(?:and\s+)?then\s+|\s*;\s*|\s*,?\s+and\s+(read|write|list|run|count|show|find|search|compute)\s+)`)

// parse turns a request into stages, none if some part of it is not understood. The
// steps of a stage do not depend on each other.
func parse(asked string, tools toolbox) [][]step {
	if parts := clauses(asked); len(parts) > 1 {
		if stages := sequence(parts, tools); stages != nil {
			return stages
		}
	}
	if steps := clause(asked, tools); steps != nil {
		return [][]step{steps}
	}
	return nil
}

func sequence(parts []string, tools toolbox) (all [][]step) {
	last := ""
	for _, part := range parts {
		part, last = refer(part, last)
		steps := clause(part, tools)
		if steps == nil {
			return nil
		}
		all = append(all, steps)
	}
	return all
}

// clauses parts a request at "then" and the like, outside quotes.
func clauses(asked string) []string {
	var parts []string
	begin := 0
	for _, m := range then.FindAllStringSubmatchIndex(asked, -1) {
		if inQuotes(asked[:m[0]]) {
			continue
		}
		parts = append(parts, asked[begin:m[0]])
		if begin = m[1]; m[2] >= 0 {
			begin = m[2] // the verb belongs to what follows
		}
	}
	return append(parts, asked[begin:])
}

func inQuotes(before string) bool {
	return strings.Count(before, `"`)%2 == 1 || strings.Count(before, "`")%2 == 1
}

var it = regexp.MustCompile(`(?i)\b(it|them|that file|the file)\b`)
var target = regexp.MustCompile("(?i)\\b(?:to|into|file|called|named|read|in)\\s+[\"`']?([^\\s\"`',;]*[^\\s\"`',;.?!])")

// refer puts the last file spoken of in the place of "it".
func refer(part, last string) (string, string) {
	if last != "" && !strings.ContainsAny(part, "\"`") {
		part = it.ReplaceAllLiteralString(part, "`"+last+"`")
	}
	for _, m := range target.FindAllStringSubmatch(part, -1) {
		last = m[1]
	}
	return part, last
}

// clause recognises one request.
func clause(part string, tools toolbox) []step {
	for _, r := range rules {
		m := r.pattern.FindStringSubmatch(part)
		if m == nil {
			continue
		}
		steps := r.steps(groups(m))
		if len(steps) == 0 {
			continue
		}
		if r.needs == "" || tools.has(r.needs) {
			return steps
		}
		if s := tools.match(part); s != nil {
			return []step{s}
		}
		return []step{say("For that I would need the tool " + r.needs + ", which I am not offered here.")}
	}
	if s := tools.match(part); s != nil {
		return []step{s}
	}
	return nil
}

// groups keeps what the groups of a match found.
func groups(match []string) []string {
	var found []string
	for _, g := range match[1:] {
		if g != "" {
			found = append(found, g)
		}
	}
	return append(found, "") // an empty quoted text finds nothing
}

var separators = regexp.MustCompile(`\s*,\s*(?:and\s+)?|\s+and\s+`)

// names parts "a.txt, b.txt and c.txt".
func names(text string) []string {
	var out []string
	for _, name := range separators.Split(text, -1) {
		if name = strings.Trim(name, "\"'`“” "); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// orHere is the folder that a request names second, or the workspace.
func orHere(g []string) string { return orDot(g, 1) }

func orDot(g []string, i int) string {
	if i >= len(g) || g[i] == "" || here[strings.ToLower(g[i])] {
		return "."
	}
	return g[i]
}

var here = map[string]bool{"here": true, "workspace": true, "the workspace": true, "this folder": true, "folder": true, "directory": true}

func quoteRE(text string) string { return regexp.QuoteMeta(text) }
