package offline

import (
	"regexp"
	"strings"
)

// rule recognises one kind of request.
type rule struct {
	example string // for help; empty: another way to say what the rule before does
	needs   string // tool; empty: none
	pattern *regexp.Regexp
	steps   func(found) []step // none: it was not that after all
}

// A pattern is a regular expression in which a blank stands for any blanks, no group
// captures, <name> stands for words of no weight, and {name} for what is looked for.
func pattern(text string) *regexp.Regexp {
	for _, w := range fillers {
		text = strings.ReplaceAll(text, w.name, w.words)
	}
	text = strings.ReplaceAll(text, "(", "(?:")
	text = strings.ReplaceAll(text, " ", `\s+`)
	for name, value := range values {
		text = strings.ReplaceAll(text, "{"+name+"}", "(?P<"+name+">"+value+")")
	}
	return regexp.MustCompile(`(?is)^` + text + `$`)
}

// fillers may hold those that follow them.
var fillers = []struct{ name, words string }{
	{"<in>", `( (in|under|of|inside|from) (<here>|(the )?(folder |directory )?{dir}( folder| directory)?))?`},
	{"<here>", `(here|(this|the|my|the current) (folder|directory|workspace|project))`},
	{"<the>", `(the )?(contents? of )?(the )?(file |text of )?`},
	{"<new>", `(a |the )?(new )?(file )?(called |named )?`},
	{"<word>", `(the (text|words?|string|phrase) )?`},
	{"<how many>", `(count|(tell me )?how many|what is the number of)( the)?( number of)?`},
	{"<are there>", `( are| is)?( there)?`},
}

const (
	quoted = "\"[^\"]*\"|`[^`]*`|'[^']*'|“[^”]*”"
	bare   = "[^\\s\"`'“”]"
	named  = "\"[^\"]+\"|`[^`]+`|'[^']+'|“[^”]+”|" + bare + `\S*?`
)

// values are what is looked for. A text without quotes must not begin with one.
var values = map[string]string{
	"text":    quoted + "|" + bare + `.*?`,
	"quote":   quoted,
	"command": quoted + "|" + bare + "[^`]*?",
	"file":    named,
	"path":    quoted + "|" + bare + `*[./]\S*?`, // what can only be a file
	"files":   `.+?`,
	"dir":     named,
	"glob":    named,
	"wild":    bare + `*[*?]\S*?`,
	"unit":    `words?|lines?|bytes?|characters?|chars?`,
	"sum":     `(?:[-+*/^().\d\s×÷]|x\s|plus|minus|times|divided\s+by)+?`,
	"plain":   `[-\d.()\s]*\d[\d.()\s]*[+*/×÷][-+*/().\d\s×÷]*?`, // a sum that is no date
}

// rules are tried in order.
var rules = []rule{
	{"Count the words in README.md", readTool,
		pattern(`<how many> {unit}<are there> (in|of|does|has|inside) <the>{files}( have| has| contain)?`),
		func(g found) []step {
			return each(g.files(), func(name string) step { return count(g.unit(), name) })
		}},
	{`How often does "TODO" occur in main.go`, readTool,
		pattern(`(how often|how many times) (does|is) <word>{text} (occur |appear |found )?in <the>{file}`), countTexts},
	{"", readTool, pattern(`(count|how many|how often|how many times) (the )?(number of )?(occurrences of |times )<word>{text} (occurs? |appears? |is )?in <the>{file}`), countTexts},
	{"", readTool, pattern(`(count|how often|how many times) {quote} (occurs? |appears? |is )?in <the>{file}`), countTexts},
	{"Count the files in src", listTool, pattern(`<how many>( all)?( the)? (files|entries)( and (folders|directories))?<are there><in>`),
		func(g found) []step { return []step{countFiles(g.dir())} }},
	{"", listTool, pattern(`how many files (does|do|has) (the )?(folder |directory )?{dir}( folder| directory)?( have| contain| hold)?`),
		func(g found) []step { return []step{countFiles(g.dir())} }},
	{"Count the *.go files", findTool, pattern(`<how many>( all)?( the)? {wild}( files)?<are there><in>`),
		func(g found) []step { return []step{countFound(g.text(), g.dir())} }},

	{"", searchTool, pattern(`search ((all )?(the )?files|<here>|(the )?(folder |directory )?{dir}( folder| directory)?) for <word>{text}`), searches},
	{`Search for "TODO" in src`, searchTool, pattern(`(search for|search|grep for|grep|look for) <word>{text}<in>`), searches},
	{"", searchTool, pattern(`find the (text|words?|string|phrase) {text}<in>`), searches},
	{"", searchTool, pattern(`(which|what) files (contain|have|mention) <word>{text}`), searches},

	{"Append bye to notes.txt", writeTool, pattern(`append <word>{text} (to|onto) (the )?(end of )?<the>{file}`),
		func(g found) []step { return []step{add(g.file(), g.text(), false)} }},
	{"", writeTool, pattern(`(append|add) (a|the) line:? {text} (to|onto) (the )?(end of )?<the>{file}`),
		func(g found) []step { return []step{add(g.file(), g.text(), true)} }},
	{"", writeTool, pattern(`add (<word>{quote}|the (text|words?) {text}) (to|onto) (the )?(end of )?<the>{file}`),
		func(g found) []step { return []step{add(g.file(), g.text(), false)} }},
	{"Write hello to notes.txt", writeTool, pattern(`(write|put|save|store) <word>{text} (to|into) <new>{file}`), writes},
	{"", writeTool, pattern(`(write|put|save|store) <word>{quote} in <new>{file}`), writes},
	{"", writeTool, pattern(`(write|put|save|store) <word>{text} in <new>{path}`), writes},
	{"Create an empty file notes.txt", writeTool, pattern(`(create|make) an empty file (called |named )?{file}`), writes},
	{`Create a file notes.txt with "hello"`, writeTool, pattern(`(create|make|write) <new>{file}( file)? (with|containing|that (says|contains)) ((the )?(contents?|text|words?)(:\s*| ))?{text}`), writes},

	{"Run `go version`", shellTool, pattern(`(run|execute)((:| (the )?(shell )?command:?)\s*| ){command}`),
		func(g found) []step { return []step{shell(g.text())} }},
	{"Calculate 2 + 3 * 4", "", pattern(`(compute|calculate|evaluate|what is|what's|how much is) {sum}\s*=?`), sums},
	{"", "", pattern(`{plain}\s*=?`), sums},

	{"List the files in src", listTool, pattern(`(list|ls|show|display|what|which|what are)( me)?( all)?( the)? (files|entries|everything)( and (folders|directories))?<are there><in>`), lists},
	{"", listTool, pattern(`(list|ls)( all)?( the)? contents?<in>`), lists},
	{"", listTool, pattern(`what( is|'s) (in )?<here>`), lists},
	{"", listTool, pattern(`ls|(list|ls) (<here>|(the )?(folder |directory )?{dir}( folder| directory)?)`), lists},
	{"Find *.go", findTool, pattern(`(find|locate)( all)?( the)?( files?)?( matching| named| called)? {glob}( files)?<in>`),
		func(g found) []step { return []step{find(g.text(), g.dir())} }},
	{"Show me README.md", readTool, pattern(`(read|show|print|cat|open|display|view|look at)( me)? <the>{files}( back| aloud)?`), reads},
	{"What is in README.md", readTool, pattern(`what( is|'s) (in|inside) <the>(folder |directory )?{file}`), reads},
	{"", readTool, pattern(`what does <the>{file} (say|contain|hold)`), reads},
}

func countTexts(g found) []step {
	if g.text() == "" {
		return nil
	}
	return []step{countText(g.text(), g.file())}
}

func searches(g found) []step {
	if g.text() == "" {
		return nil
	}
	return []step{search(g.text(), g.dir())}
}

func writes(g found) []step { return []step{write(g.file(), g.text())} }
func lists(g found) []step  { return []step{list(g.dir())} }
func reads(g found) []step  { return each(g.files(), read) }

func sums(g found) []step {
	if !strings.ContainsAny(g.text(), "0123456789") {
		return nil
	}
	return []step{compute(g.text())}
}

func each(names []string, do func(name string) step) (steps []step) {
	for _, name := range names {
		steps = append(steps, do(name))
	}
	return steps
}
