package policy

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/openrath-go/rath/tool"
)

// judging is one call being judged.
type judging struct {
	ctx    context.Context
	tool   *tool.Tool
	args   map[string]any
	facets map[facet][]subject

	found    tool.Judgment // the strictest so far of what forbids
	allowAll bool
}

// apply has a rule say what it can.
func (j *judging) apply(r Rule) {
	f := r.facet()
	if f.kind == "" {
		if r.Verdict == tool.Allow {
			j.allowAll = true
		} else {
			j.raise(r.Verdict, r.reason(subject{}))
		}
		return
	}
	subjects := j.subjects(f)
	for i, s := range subjects {
		switch {
		case r.Verdict == tool.Allow:
			subjects[i].allowed = s.allowed || r.allows(s)
		case r.forbids(s):
			j.raise(r.Verdict, r.reason(s))
		}
	}
}

func (j *judging) raise(v tool.Verdict, reason string) {
	if v > j.found.Verdict {
		j.found = tool.Judgment{Verdict: v, Reason: reason}
	}
}

// end is the judgment. Commands that could be anything are at least asked about.
func (j *judging) end(otherwise tool.Verdict) tool.Judgment {
	allowed := j.allowAll
	for f, subjects := range j.facets {
		if f.kind == "command" && slices.ContainsFunc(subjects, func(s subject) bool { return s.unknown }) {
			j.raise(tool.Ask, untold)
		}
		if len(subjects) > 0 && !slices.ContainsFunc(subjects, func(s subject) bool { return !s.allowed }) {
			allowed = true
		}
	}
	switch {
	case j.found.Verdict != tool.Undecided:
		return j.found
	case allowed:
		return tool.Judgment{Verdict: tool.Allow}
	case otherwise != tool.Undecided:
		return tool.Judgment{Verdict: otherwise, Reason: "no rule allows it"}
	}
	return tool.Judgment{}
}

// subjects are what a facet of the call has.
func (j *judging) subjects(f facet) []subject {
	if known, ok := j.facets[f]; ok {
		return known
	}
	var all []subject
	for _, text := range j.values(f) {
		switch f.kind {
		case "path":
			all = append(all, j.file(text))
		case "command":
			all = append(all, commandsIn(text)...)
		default:
			all = append(all, subject{text: text})
		}
	}
	j.facets[f] = all
	return all
}

// values are the texts in an argument. A path that is left out means the workspace.
func (j *judging) values(f facet) []string {
	v, given := j.args[f.arg]
	if f.kind == "path" && (!given || v == "") && takes(j.tool, f.arg) {
		return []string{"."}
	}
	return texts(v)
}

func takes(t *tool.Tool, arg string) bool {
	var schema struct{ Properties map[string]json.RawMessage }
	return json.Unmarshal(t.Schema, &schema) == nil && schema.Properties[arg] != nil
}

// texts are all strings in a value.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			all = append(all, texts(x)...)
		}
	case map[string]any:
		for _, x := range v {
			all = append(all, texts(x)...)
		}
	}
	return all
}

// file is a path as the session's sandbox resolves it. Without one, it is only cleaned.
func (j *judging) file(name string) subject {
	sb := tool.SessionOf(j.ctx).Sandbox()
	if sb == nil {
		clean := path.Clean(name)
		return subject{text: clean, unknown: clean == ".." || strings.HasPrefix(clean, "../")}
	}
	canonical, err := sb.Canonical(name)
	return subject{text: canonical, unknown: err != nil}
}
