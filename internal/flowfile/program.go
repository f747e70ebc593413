package flowfile

import (
	"context"
	"fmt"
	"maps"
	"slices"

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
	entry, err := p.connected(ctx)
	if err != nil {
		return s, err
	}
	if b := p.file.spec.Budget; b != nil {
		c := Capped{Budget: b.budget(), Body: entry}
		if b.Cost > 0 {
			if c.Budget.Prices, err = p.open.Prices(); err != nil {
				return s, err
			}
		}
		return c.Forward(ctx, s)
	}
	return flow.Forward(ctx, "", entry, s)
}

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
