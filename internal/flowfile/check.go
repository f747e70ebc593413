package flowfile

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mostWorkflows is how large a tree of workflows may be, with what is in it several times.
const mostWorkflows = 4096

// reference is where a workflow names another one.
type reference struct {
	name string
	at   *node
}

// check reports what a schema cannot say: names that stand for nothing, circles, expressions
// that are none.
func (f *File) check(r *report) {
	f.checkNames(r)
	if len(r.found) > 0 {
		return // whatever more there is would follow from this
	}
	f.checkCycles(r)
	f.checkAgents(r)
	f.checkLoops(r)
	if len(r.found) == 0 {
		f.checkEntry(r)
	}
}

// definitions are the names of all agents and workflows, sorted.
func (f *File) definitions() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(f.spec.Agents)), maps.Keys(f.spec.Workflows))
	slices.Sort(names)
	return slices.Compact(names)
}

func (f *File) checkNames(r *report) {
	names := f.definitions()
	for name := range f.spec.Workflows {
		if _, both := f.spec.Agents[name]; both {
			r.add(f.keyOf("workflows", name), "give one of them another name", "there is an agent of that name, too")
		}
	}
	for _, name := range names {
		for _, ref := range f.references(name) {
			if _, found := slices.BinarySearch(names, ref.name); !found {
				r.add(ref.at, near(ref.name, names), "there is no agent or workflow %q", ref.name)
			}
		}
	}
	if e := f.spec.Entry; e != "" && !slices.Contains(names, e) {
		r.add(f.root.at("entry"), near(e, names), "there is no agent or workflow %q", e)
	}
	for name, w := range f.spec.Workflows {
		if w.Route == nil {
			continue
		}
		for i, c := range w.Route.Choices {
			if c == "done" || c == "none" {
				r.add(f.root.at("workflows", name, "route", "choices", i), "give it another name", "%q has a meaning of its own in a route", c)
			}
		}
	}
}

// keyOf is where a name is defined.
func (f *File) keyOf(section, name string) *node {
	for _, m := range f.root.at(section).members {
		if m.name() == name {
			return m.key
		}
	}
	return f.root
}

// references are what a definition names, in the file's order.
func (f *File) references(name string) (refs []reference) {
	add := func(name string, path ...any) {
		if name != "" {
			refs = append(refs, reference{name, f.root.at(path...)})
		}
	}
	if a, ok := f.spec.Agents[name]; ok {
		if a.Compress != nil {
			add(a.Compress.With, "agents", name, "compress", "with")
		}
		return refs
	}
	w := f.spec.Workflows[name]
	for i, s := range w.Sequence {
		add(s, "workflows", name, "sequence", i)
	}
	switch {
	case w.Parallel != nil:
		for i, s := range w.Parallel.Branches {
			add(s, "workflows", name, "parallel", "branches", i)
		}
		add(w.Parallel.Resolve, "workflows", name, "parallel", "resolve")
	case w.Route != nil:
		for i, s := range w.Route.Choices {
			add(s, "workflows", name, "route", "choices", i)
		}
		add(w.Route.Default, "workflows", name, "route", "default")
	case w.Loop != nil:
		add(w.Loop.Of, "workflows", name, "loop", "of")
	case w.Budget != nil:
		add(w.Budget.Of, "workflows", name, "budget", "of")
	}
	return refs
}

// checkCycles refuses workflows that hold themselves, and trees that are too large, which a
// few lines can make where each names the next one twice.
func (f *File) checkCycles(r *report) {
	sizes := map[string]int{}
	var path []string
	var size func(reference) int
	size = func(ref reference) int {
		if n, known := sizes[ref.name]; known {
			return n
		}
		if i := slices.Index(path, ref.name); i >= 0 {
			r.add(ref.at, "a loop or a route does something again", "%s: a workflow cannot hold itself", strings.Join(append(path[i:], ref.name), " -> "))
			return 1
		}
		path = append(path, ref.name)
		n := 1
		for _, below := range f.references(ref.name) {
			n = min(n+size(below), mostWorkflows+1)
		}
		path = path[:len(path)-1]
		sizes[ref.name] = n
		if n > mostWorkflows {
			r.add(f.keyOf("workflows", ref.name), "", "there are more than %d workflows in it, with those that are in it several times", mostWorkflows)
		}
		return n
	}
	for _, name := range f.definitions() {
		size(reference{name, f.root})
	}
}

func (f *File) checkAgents(r *report) {
	for name, a := range f.spec.Agents {
		if f.spec.Memory == nil && a.Memory.given && !a.Memory.none {
			r.add(f.root.at("agents", name, "memory"), "name one: memory: {store: local:default}", "the file has no memory")
		}
		if a.Compress != nil && f.spec.Workflows[a.Compress.With].Compress == nil {
			r.add(f.root.at("agents", name, "compress", "with"), "", "%s does not compress", a.Compress.With)
		}
	}
	if f.spec.Budget != nil {
		f.checkTime(r, "budget", "time")
	}
	for name, s := range f.spec.MCP {
		f.checkTime(r, "mcp", name, "timeout")
		if s.URL != "" && (s.InSandbox || s.Dir != "" || len(s.Env) > 0) {
			r.add(f.root.at("mcp", name), "", "sandbox, cwd and env are for a command")
		}
	}
	for name, w := range f.spec.Workflows {
		if w.Budget != nil {
			f.checkTime(r, "workflows", name, "budget", "time")
		}
	}
}

// checkTime looks at a duration, if there is one. Its form is the schema's, so that Go can
// only find it too long.
func (f *File) checkTime(r *report, path ...any) {
	at := f.root.at(path...)
	if at.kind != isText {
		return
	}
	d, err := time.ParseDuration(at.value.(string))
	switch {
	case err != nil:
		r.add(at, "such as 90s or 5m", "%v is longer than there are durations: about 292 years", at.value)
	case d < time.Millisecond:
		r.add(at, "such as 90s or 5m", "%v is no time for anything", at.value)
	}
}

// maxExpression keeps a regular expression from taking much memory.
const maxExpression = 1000

func (f *File) checkLoops(r *report) {
	for name, w := range f.spec.Workflows {
		if w.Loop == nil || w.Loop.Until == nil || w.Loop.Until.Matches == "" {
			continue
		}
		at := f.root.at("workflows", name, "loop", "until", "matches")
		_, err := regexp.Compile(w.Loop.Until.Matches)
		if err == nil && len(w.Loop.Until.Matches) > maxExpression {
			err = errors.New("it is too long")
		}
		if err != nil {
			r.add(at, "the syntax is that of Go's package regexp", "%v", err)
		}
	}
}

// checkEntry sees that it is clear what runs.
func (f *File) checkEntry(r *report) {
	if f.spec.Entry != "" {
		return
	}
	tops := f.tops()
	if len(tops) > 1 {
		r.add(f.root, "name it: entry: "+tops[0], "it is not clear which of %s runs", strings.Join(tops, ", "))
	}
}

// tops are the definitions that are part of no other.
func (f *File) tops() []string {
	used := map[string]bool{}
	for _, name := range f.definitions() {
		for _, ref := range f.references(name) {
			used[ref.name] = true
		}
	}
	return slices.DeleteFunc(f.definitions(), func(name string) bool { return used[name] })
}

// Entry is the name of the agent or workflow that runs.
func (f *File) Entry() string {
	if f.spec.Entry != "" {
		return f.spec.Entry
	}
	return f.tops()[0] // there is one, or Parse has refused the file
}

// World knows what the names in a file stand for. Its errors may have a Hint method.
type World interface {
	CheckModel(name string) error
	CheckTool(name string) error
	CheckServer(name string) error // that the file does not have
	CheckMemory(store string) error
	CheckSandbox(field, value string) error
	// CheckRule looks at a rule of a policy. Known: the agent has no other tools than those
	// that can be named here.
	CheckRule(rule string, known bool) error
}

// Check reports what a file names that there is not. The error is [Problems].
func (f *File) Check(w World) error {
	r := &report{file: f.Name}
	tell := func(err error, path ...any) {
		if err != nil {
			hint := ""
			var h interface{ Hint() string }
			if errors.As(err, &h) {
				hint = h.Hint()
			}
			r.add(f.root.at(path...), hint, "%v", err)
		}
	}
	f.eachModel(func(model string, path ...any) { tell(w.CheckModel(model), path...) })
	for name, a := range f.spec.Agents {
		for i, t := range a.Tools.names {
			tell(w.CheckTool(t), "agents", name, "tools", i)
		}
		for i, s := range a.MCP {
			if _, own := f.spec.MCP[s]; !own {
				tell(w.CheckServer(s), "agents", name, "mcp", i)
			}
		}
	}
	f.checkRules(w, tell)
	if m := f.spec.Memory; m != nil {
		tell(w.CheckMemory(m.Store), "memory", "store")
	}
	if s := f.root.get("sandbox"); s != nil {
		for _, m := range s.members {
			for _, value := range scalars(m.value) {
				tell(w.CheckSandbox(m.name(), value), "sandbox", m.name())
			}
		}
	}
	return r.err()
}

// checkRules looks at the rules of the agents.
func (f *File) checkRules(w World, tell func(err error, path ...any)) {
	for name, p := range f.Policies() {
		known := len(f.spec.Agents[name].MCP) == 0
		for verdict, rules := range map[string][]string{"allow": p.Allow, "ask": p.Ask, "deny": p.Deny} {
			for i, rule := range rules {
				tell(w.CheckRule(rule, known), "agents", name, "policy", verdict, i)
			}
		}
	}
}

// eachModel yields every model that the file names, and where.
func (f *File) eachModel(yield func(model string, path ...any)) {
	one := func(model string, path ...any) {
		if model != "" {
			yield(model, path...)
		}
	}
	one(f.spec.Model, "model")
	for name, a := range f.spec.Agents {
		one(a.Model, "agents", name, "model")
	}
	for name, w := range f.spec.Workflows {
		if w.Route != nil {
			one(w.Route.Selector.Model, "workflows", name, "route", "selector", "model")
		}
		if w.Compress != nil {
			one(w.Compress.Model, "workflows", name, "compress", "model")
		}
	}
}
