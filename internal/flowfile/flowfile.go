// Package flowfile reads workflows that are written down in a file of YAML: agents,
// sequences, branches, routes, loops and budgets, with names for what refers to what.
// [Parse] says all that is wrong with a file at once, each with its line; [File.Build] makes
// the workflow, with an [Opener] for what the file only names.
package flowfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
)

// File is a flow's file that was read. It is not changed any more.
type File struct {
	Name    string // as problems name it
	Content []byte
	Digest  string // SHA-256 of the content, in hexadecimal

	spec file
	root *node
}

// Parse reads a file's content and checks all that can be checked without knowing anything
// else. The error is [Problems]; where they are only about what names stand for, the file
// comes with it, for [File.Check] to find more.
func Parse(name string, content []byte) (*File, error) {
	f := &File{Name: name, Content: content, Digest: DigestOf(content)}
	r := &report{file: name}
	if f.root = read(content, r); f.root == nil {
		return nil, r.err()
	}
	s, err := schema()
	if err != nil {
		return nil, err
	}
	s.check(f.root, r)
	if err := r.err(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(f.root.plain())
	if err == nil {
		err = json.Unmarshal(data, &f.spec)
	}
	if err != nil {
		r.add(f.root, "", "%v", err)
		return nil, r.err()
	}
	f.check(r)
	return f, r.err()
}

// The form of a file, as the schema describes it.
type (
	file struct {
		Description string              `json:"description"`
		Entry       string              `json:"entry"`
		Model       string              `json:"model"`
		Params      json.RawMessage     `json:"params"`
		Sandbox     *Sandbox            `json:"sandbox"`
		Memory      *Memory             `json:"memory"`
		MCP         map[string]Server   `json:"mcp"`
		Budget      *limits             `json:"budget"`
		Agents      map[string]agent    `json:"agents"`
		Workflows   map[string]workflow `json:"workflows"`
	}
	agent struct {
		Description string          `json:"description"`
		Prompt      string          `json:"prompt"`
		Model       string          `json:"model"`
		Params      json.RawMessage `json:"params"`
		Tools       tools           `json:"tools"`
		MCP         []string        `json:"mcp"`
		Memory      telling         `json:"memory"`
		MaxSteps    int             `json:"max_steps"`
		Policy      *Policy         `json:"policy"`
		Compress    *struct {
			With string `json:"with"`
			At   int    `json:"at"`
		} `json:"compress"`
	}
	workflow struct {
		Description string      `json:"description"`
		Sequence    []string    `json:"sequence"`
		Parallel    *parallel   `json:"parallel"`
		Route       *route      `json:"route"`
		Compress    *compressor `json:"compress"`
		Loop        *loop       `json:"loop"`
		Budget      *part       `json:"budget"`
	}
	parallel struct {
		Branches []string `json:"branches"`
		Limit    int      `json:"limit"`
		Share    bool     `json:"share"`
		Resolve  string   `json:"resolve"`
	}
	route struct {
		Choices   []string `json:"choices"`
		Default   string   `json:"default"`
		MaxRounds int      `json:"max_rounds"`
		Selector  asking   `json:"selector"`
	}
	compressor struct {
		asking
		Keep int `json:"keep"`
	}
	asking struct {
		Prompt string          `json:"prompt"`
		Model  string          `json:"model"`
		Params json.RawMessage `json:"params"`
		Window int             `json:"window"`
	}
	loop struct {
		Of        string `json:"of"`
		MaxRounds int    `json:"max_rounds"`
		Until     *Until `json:"until"`
		OnLimit   string `json:"on_limit"`
	}
	part struct {
		Of string `json:"of"`
		limits
	}
	limits struct {
		Tokens    int64   `json:"tokens"`
		Cost      float64 `json:"cost"`
		Calls     int64   `json:"calls"`
		ToolCalls int64   `json:"tool_calls"`
		Time      span    `json:"time"`
	}
)

// Sandbox is where the tools run, in the words of the command's flags. What is empty is not
// said.
type Sandbox struct {
	URL          string   `json:"url"`
	Isolation    string   `json:"isolation"`
	Network      string   `json:"network"`
	ReadOnly     []string `json:"read_only"`
	Writable     []string `json:"writable"`
	MaxMemory    text     `json:"max_memory"`
	MaxCPU       text     `json:"max_cpu"`
	MaxProcesses text     `json:"max_processes"`
	MaxFileSize  text     `json:"max_file_size"`
	Snapshots    text     `json:"snapshots"`
}

// Memory is the memory of a run and what its agents do with it unless they say otherwise.
type Memory struct {
	Store string `json:"store"`
	Told
}

// Told is what an agent does with a memory; nil is not said.
type Told struct {
	Tokens *int  `json:"tokens"`
	Limit  *int  `json:"limit"`
	Tools  *bool `json:"tools"`
	Commit *bool `json:"commit"`
}

// over returns these settings, and the others where they say nothing.
func (t Told) over(other Told) Told {
	if t.Tokens == nil {
		t.Tokens = other.Tokens
	}
	if t.Limit == nil {
		t.Limit = other.Limit
	}
	if t.Tools == nil {
		t.Tools = other.Tools
	}
	if t.Commit == nil {
		t.Commit = other.Commit
	}
	return t
}

// Policy says what an agent may call its tools with, in the words of the command's flags. It
// spares questions and is no boundary.
type Policy struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	Else  string   `json:"else,omitempty"` // for calls that nothing else is about: a verdict, or empty
}

// String has the rules on one line.
func (p *Policy) String() string {
	var parts []string
	for _, group := range []struct {
		verdict string
		rules   []string
	}{{"allow", p.Allow}, {"ask", p.Ask}, {"deny", p.Deny}} {
		if len(group.rules) > 0 {
			parts = append(parts, group.verdict+" "+strings.Join(group.rules, ", "))
		}
	}
	if p.Else != "" {
		parts = append(parts, "else "+p.Else)
	}
	return strings.Join(parts, "; ")
}

// Server is an MCP server: Command or URL is set.
type Server struct {
	Command     []string          `json:"command"`
	Env         map[string]string `json:"env"`
	Dir         string            `json:"cwd"`
	InSandbox   bool              `json:"sandbox"`
	URL         string            `json:"url"`
	Timeout     span              `json:"timeout"`
	IgnoreHints bool              `json:"ignore_hints"`
}

// tools are a word for several, or names.
type tools struct {
	word  string
	names []string
}

func (t *tools) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &t.word) == nil {
		return nil
	}
	return json.Unmarshal(data, &t.names)
}

// telling is what an agent has of the memory: none, all, or with settings of its own.
type telling struct {
	none, given bool // given: the agent says something
	told        Told
}

func (t *telling) UnmarshalJSON(data []byte) error {
	t.given = true
	var has bool
	if json.Unmarshal(data, &has) == nil {
		t.none = !has
		return nil
	}
	return json.Unmarshal(data, &t.told)
}

// text is a scalar as it is written.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = string(data)
	}
	*t = text(s)
	return nil
}

// span is a duration as Go writes it. One that is too long is reported where it stands, by
// [File.checkTime].
type span time.Duration

func (s *span) UnmarshalJSON(data []byte) error {
	var t string
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	d, _ := time.ParseDuration(t)
	*s = span(d)
	return nil
}

// budget is what limits mean, for what they are.
func (l limits) budget(name string) flow.Budget {
	return flow.Budget{
		Name: name, Tokens: l.Tokens, Calls: l.Calls, ToolCalls: l.ToolCalls, Time: time.Duration(l.Time),
		Cost: session.Cost{Nano: int64(l.Cost*1e9 + 0.5)},
	}
}

// Description is what the file says of itself, empty if nothing.
func (f *File) Description() string { return f.spec.Description }

// Model is the model of what names none, empty if the file says nothing of it.
func (f *File) Model() string { return f.spec.Model }

// Sandbox is where the tools run, nil if the file says nothing of it.
func (f *File) Sandbox() *Sandbox { return f.spec.Sandbox }

// Memory is the memory of the run, nil if there is none.
func (f *File) Memory() *Memory { return f.spec.Memory }

// Models are the models that the file asks by name, sorted. The name is empty where it asks
// the one of [File.Model], or the configured one.
func (f *File) Models() []string {
	names := map[string]bool{}
	for _, a := range f.spec.Agents {
		names[a.Model] = true
	}
	for _, w := range f.spec.Workflows {
		if w.Route != nil {
			names[w.Route.Selector.Model] = true
		}
		if w.Compress != nil {
			names[w.Compress.Model] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Policies are the rules of the agents that have some, by the agents' names.
func (f *File) Policies() map[string]*Policy {
	all := map[string]*Policy{}
	for name, a := range f.spec.Agents {
		if a.Policy != nil {
			all[name] = a.Policy
		}
	}
	return all
}

// Servers are the MCP servers that agents use, by name: nil for one that the file does not
// have and that is configured elsewhere.
func (f *File) Servers() map[string]*Server {
	servers := map[string]*Server{}
	for _, a := range f.spec.Agents {
		for _, name := range a.MCP {
			servers[name] = nil
			if s, ok := f.spec.MCP[name]; ok {
				servers[name] = &s
			}
		}
	}
	return servers
}

func (f *File) String() string { return fmt.Sprintf("%s (%.12s)", f.Name, f.Digest) }

// DigestOf is the digest that a file with this content has.
func DigestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
