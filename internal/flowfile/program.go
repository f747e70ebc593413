package flowfile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"golang.org/x/sync/errgroup"
)

// Program is the workflow of a file. Its fingerprint is that of the file's content and of
// what the content was built with.
type Program struct {
	// Entry is what runs, without the tools of MCP servers: which these are is only known
	// within a run, whose record has them.
	Entry flow.Workflow

	file *File
	open Opener
}

// Forward opens the MCP servers of the file and runs its entry within its budget.
func (p *Program) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	w, err := p.Connected(ctx)
	if err != nil {
		return s, err
	}
	return w.Forward(ctx, s)
}

// Connected opens the MCP servers of the file, and returns what runs its entry with their
// tools, any number of times, each within the file's budget.
func (p *Program) Connected(ctx context.Context) (flow.Workflow, error) {
	entry, err := p.connected(ctx)
	if err != nil {
		return nil, err
	}
	return flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		c, err := p.capped(entry)
		if err != nil {
			return s, err
		}
		out, err := flow.Forward(ctx, "", c, s)
		return out, p.explain(err)
	}), nil
}

// capped is the entry within the file's budget, if there is one.
func (p *Program) capped(entry flow.Workflow) (flow.Workflow, error) {
	b := p.file.spec.Budget
	if b == nil {
		return entry, nil
	}
	c := &Capped{Budget: b.budget(p.file.base()), Body: entry}
	var err error
	if b.Cost > 0 {
		c.Budget.Prices, err = p.open.Prices()
	}
	return c, err
}

// CheckPrices reports models whose price is not known, where the file has a budget of money.
func (p *Program) CheckPrices() error {
	w, err := p.capped(p.Entry)
	if c, ok := w.(*Capped); ok && err == nil {
		err = c.CheckPrices()
	}
	return err
}

// explain has an agent's error say what can be changed in the file.
func (p *Program) explain(err error) error {
	var at *flow.Error
	if !errors.Is(err, flow.ErrMaxSteps) || !errors.As(err, &at) {
		return err
	}
	name := at.Path[strings.LastIndexByte(at.Path, '/')+1:]
	a, own := p.file.spec.Agents[name]
	if !own || a.MaxSteps == 0 {
		return err // the default counts, which is whoever's that runs the file
	}
	return &hinted{err, fmt.Sprintf("allow more with max_steps of the agent %s in %s, or look at the calls: the model may be going round in circles", name, p.file.base())}
}

// hinted is an error that says what can be done about it.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// Hint says what can be done about it.
func (e *hinted) Hint() string { return e.hint }

// connected is the entry with the tools of the servers.
func (p *Program) connected(ctx context.Context) (flow.Workflow, error) {
	servers := p.file.Servers()
	if len(servers) == 0 {
		return p.Entry, nil
	}
	names := slices.Sorted(maps.Keys(servers))
	sets := make([]tool.Set, len(names))
	g, gctx := errgroup.WithContext(ctx)
	for i, name := range names {
		g.Go(func() (err error) {
			sets[i], err = p.open.Server(effect.Scope(gctx, "mcp "+name), name, servers[name])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	tools := map[string]tool.Set{}
	for i, name := range names {
		tools[name] = sets[i]
	}
	entry, err := p.tree(tools)
	if err == nil {
		err = flow.Check(entry)
	}
	return entry, err
}

// tree makes the entry.
func (p *Program) tree(tools map[string]tool.Set) (flow.Workflow, error) {
	b := &builder{File: p.file, open: p.open, tools: tools, made: map[string]flow.Workflow{}}
	return b.workflow(p.file.Entry())
}

// Fingerprint is the digest of the file.
func (p *Program) Fingerprint() string {
	return p.file.Digest + " " + p.file.BudgetText()
}

// String names the file and its budget.
func (p *Program) String() string {
	text := fmt.Sprintf("Flow(%q", p.file.Name)
	if b := p.file.BudgetText(); b != "" {
		text += ", budget: " + b
	}
	return text + ")"
}
