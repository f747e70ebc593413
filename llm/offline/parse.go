package offline

import (
	"regexp"
	"strings"
)

var (
	then   = regexp.MustCompile(`(?i)\s*[,;.]\s*(?:and\s+)?then\s+|\s+(?:and\s+)?then\s+|\s*;\s*|\s*,?\s+and\s+((?:read|write|list|run|count|show|find|search|compute|calculate|append|create|execute|print|tell)\s+)`)
	please = regexp.MustCompile(`(?i)^(?:(?:please|kindly|now|(?:can|could|would|will) you)\s+)+|\s*,\s*please$`)
	helpRE = regexp.MustCompile(`(?i)^\s*(?:help|what can you do|who are you|what are you)\s*[.?!]*\s*$`)
)

// parse turns a request into stages, none if some part of it is not understood. The
// steps of a stage do not depend on each other.
func parse(asked string, tools toolbox) [][]step {
	if parts := clauses(asked); len(parts) > 1 {
		if stages := sequence(parts, tools); stages != nil {
			return stages
		}
	}
	return sequence([]string{asked}, tools)
}

func sequence(parts []string, tools toolbox) (all [][]step) {
	last := ""
	for _, part := range parts {
		steps, spokenOf := clause(trim(part), last, tools)
		if steps == nil {
			return nil
		}
		if spokenOf != "" {
			last = spokenOf
		}
		all = append(all, steps)
	}
	return all
}

// clauses parts a request at "then" and the like, outside quotes.
func clauses(asked string) []string {
	var parts []string
	begin, seen, open := 0, 0, rune(0)
	for _, m := range then.FindAllStringSubmatchIndex(asked, -1) {
		open, seen = quoteAfter(open, asked[seen:m[0]]), m[0]
		if open != 0 {
			continue
		}
		parts = append(parts, asked[begin:m[0]])
		if begin = m[1]; m[2] >= 0 {
			begin = m[2] // the verb belongs to what follows
		}
	}
	return append(parts, asked[begin:])
}

// quoteAfter returns the quote that is open behind a text, 0 for none, if open was before
// it. An apostrophe opens none.
func quoteAfter(open rune, text string) rune {
	for _, r := range text {
		switch {
		case open == 0 && (r == '"' || r == '`' || r == '“'):
			open = r
		case r == open, r == '”' && open == '“':
			open = 0
		}
	}
	return open
}

// trim takes politeness away, and the sentence's end: not the dots of a path.
func trim(part string) string {
	part = strings.TrimSpace(part)
	if text := strings.TrimRight(part, ".?!"); endRE.MatchString(text) {
		part = strings.TrimSpace(text)
	}
	return strings.TrimSpace(please.ReplaceAllString(part, ""))
}

// endRE is what a sentence can end with, before its dot.
var endRE = regexp.MustCompile("[\\pL\\d)\"'`”=]$")

// clause recognises one request, and says of which file it speaks.
func clause(part, last string, tools toolbox) (steps []step, spokenOf string) {
	for _, r := range rules {
		g := r.match(part, last)
		if g == nil {
			continue
		}
		steps := r.steps(g)
		switch {
		case len(steps) == 0:
			continue
		case r.needs == "" || tools.has(r.needs):
			return steps, g.last()
		}
		if s := tools.match(part); s != nil {
			return []step{s}, ""
		}
		return []step{say("For that I would need the tool " + r.needs + ", which I am not offered here.")}, ""
	}
	if s := tools.match(part); s != nil {
		return []step{s}, ""
	}
	return nil, ""
}
