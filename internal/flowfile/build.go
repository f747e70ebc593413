package flowfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/tool"
)

// Opener has what a file only names. It is asked while the workflow is built, for each model
// as often as it is used; Server is asked when the workflow runs.
type Opener interface {
	// Model returns a model, and the settings that its provider has; an empty name is the
	// default one.
	Model(name string) (llm.Model, llm.Params, error)
	// Tools returns built-in tools: for "all", "read" or "none", or by their names.
	Tools(word string, names []string) (tool.Set, error)
	// Memory returns the memory of the run, and its tools.
	Memory() (*memory.Store, tool.Set, error)
	// Told says what an agent does with the memory that says nothing else.
	Told() Told
	// Policy returns the rules of an agent and those that hold for all of them; p is nil for an
	// agent that has none of its own. Nil: there are none.
	Policy(p *Policy) (tool.Policy, error)
	// MaxSteps is how many rounds an agent has that says nothing of it.
	MaxSteps() int
	// Server returns the tools of an MCP server; s is nil for one that is configured
	// elsewhere. It is called within the run, so that what it does as an effect is on
	// record.
	Server(ctx context.Context, name string, s *Server) (tool.Set, error)
	// Prices are what models cost. It is asked only where a budget has a cost.
	Prices() (*llm.Prices, error)
}

// Build makes the workflow of a file.
func (f *File) Build(o Opener) (*Program, error) {
	p := &Program{file: f, open: o}
	var err error
	if p.Entry, err = p.tree(nil); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return p, nil
}

// base is the file's name as errors of a run have it.
func (f *File) base() string { return filepath.Base(f.Name) }

// builder makes each workflow of a file once.
type builder struct {
	*File
	open  Opener
	tools map[string]tool.Set // of MCP servers
	made  map[string]flow.Workflow
}

// workflow makes what a name stands for; nil for no name.
func (b *builder) workflow(name string) (flow.Workflow, error) {
	if w := b.made[name]; w != nil || name == "" {
		return w, nil
	}
	var w flow.Workflow
	var err error
	if a, ok := b.spec.Agents[name]; ok {
		w, err = b.agent(name, a)
	} else {
		w, err = b.composed(name, b.spec.Workflows[name])
	}
	if err != nil {
		return nil, err
	}
	b.made[name] = w
	return w, nil
}

func (b *builder) workflows(names []string) ([]flow.Workflow, error) {
	all := make([]flow.Workflow, len(names))
	var err error
	for i, name := range names {
		if all[i], err = b.workflow(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (b *builder) agent(name string, from agent) (*flow.Agent, error) {
	a := &flow.Agent{Name: name, Description: from.Description, Prompt: from.Prompt, MaxSteps: from.MaxSteps}
	var err error
	if a.Model, a.Params, err = b.model(from.Model, from.Params); err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	if from.Tools.word != "" || len(from.Tools.names) > 0 {
		if a.Tools, err = b.open.Tools(from.Tools.word, from.Tools.names); err != nil {
			return nil, fmt.Errorf("agent %s: %w", name, err)
		}
	}
	for _, server := range from.MCP {
		a.Tools = append(a.Tools, b.tools[server]...)
	}
	if a.Policy, err = b.open.Policy(from.Policy); err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	if a.MaxSteps == 0 {
		a.MaxSteps = b.open.MaxSteps()
	}
	if from.Compress != nil {
		w, err := b.workflow(from.Compress.With)
		if err != nil {
			return nil, err
		}
		a.Compress, a.CompressAt = w.(*flow.Compressor), from.Compress.At // the check has seen to it
	}
	return a, b.remember(a, from.Memory)
}

// remember gives an agent the memory of the run.
func (b *builder) remember(a *flow.Agent, t telling) error {
	if t.none {
		return nil
	}
	m, tools, err := b.open.Memory()
	if err != nil || m == nil {
		return err
	}
	told := t.told.over(b.open.Told())
	a.Memory = m
	if told.Tokens != nil {
		if a.Recall.Tokens = *told.Tokens; *told.Tokens == 0 {
			a.Recall.Tokens = -1
		}
	}
	if told.Limit != nil {
		a.Recall.Recall.Limit = *told.Limit
	}
	if told.Tools != nil && *told.Tools {
		a.Tools = append(a.Tools, tools...)
	}
	a.CommitOnForward = told.Commit != nil && *told.Commit
	return nil
}

// model returns a model with its settings: its provider's, over them the file's, over them
// its user's.
func (b *builder) model(name string, own json.RawMessage) (llm.Model, llm.Params, error) {
	m, from, err := b.open.Model(name)
	if err != nil {
		return nil, llm.Params{}, err
	}
	base, err := json.Marshal(from)
	var p llm.Params
	for _, settings := range []json.RawMessage{base, b.spec.Params, own} {
		if err == nil && len(settings) > 0 {
			err = json.Unmarshal(settings, &p)
		}
	}
	return m, p, err
}

func (b *builder) composed(name string, from workflow) (flow.Workflow, error) {
	var w flow.Workflow
	var err error
	switch {
	case from.Parallel != nil:
		w, err = b.parallel(from.Parallel)
	case from.Route != nil:
		w, err = b.route(from.Route)
	case from.Compress != nil:
		return b.compressor(name, from.Compress)
	case from.Loop != nil:
		l := &Loop{MaxRounds: from.Loop.MaxRounds, Until: from.Loop.Until, GoOn: from.Loop.OnLimit == "continue"}
		l.Body, err = b.workflow(from.Loop.Of)
		w = l
	case from.Budget != nil:
		w, err = b.capped(name, from.Budget)
	default:
		var steps []flow.Workflow
		steps, err = b.workflows(from.Sequence)
		w = flow.Sequence(steps)
	}
	if err != nil {
		return nil, fmt.Errorf("workflow %s: %w", name, err)
	}
	return &flow.Label{Name: name, Description: from.Description, Workflow: w}, nil
}

func (b *builder) parallel(from *parallel) (flow.Workflow, error) {
	branches, err := b.workflows(from.Branches)
	resolve, err2 := b.workflow(from.Resolve)
	return &flow.Parallel{Branches: branches, Limit: from.Limit, Share: from.Share, Resolve: resolve}, errors.Join(err, err2)
}

func (b *builder) route(from *route) (flow.Workflow, error) {
	x := from.Selector
	s := &flow.Selector{Prompt: x.Prompt, Window: x.Window}
	r := &flow.Route{Selector: s, MaxRounds: from.MaxRounds}
	var errs [3]error
	s.Model, s.Params, errs[0] = b.model(x.Model, x.Params)
	r.Choices, errs[1] = b.workflows(from.Choices)
	r.Default, errs[2] = b.workflow(from.Default)
	return r, errors.Join(errs[:]...)
}

func (b *builder) compressor(name string, from *compressor) (flow.Workflow, error) {
	c := &flow.Compressor{Name: name, Prompt: from.Prompt, Keep: from.Keep, Window: from.Window}
	var err error
	c.Model, c.Params, err = b.model(from.Model, from.Params)
	if err != nil {
		return nil, fmt.Errorf("workflow %s: %w", name, err)
	}
	return c, nil
}

func (b *builder) capped(name string, from *part) (flow.Workflow, error) {
	c := &Capped{Budget: from.budget(name + " in " + b.base())}
	var err, pricesErr error
	c.Body, err = b.workflow(from.Of)
	if from.Cost > 0 {
		c.Budget.Prices, pricesErr = b.open.Prices()
	}
	return c, errors.Join(err, pricesErr)
}
