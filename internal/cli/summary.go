package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/flowfile"
	"github.com/openrath-go/rath/memory"
	"github.com/spf13/cobra"
)

func (a *app) summaryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "summary FILE",
		Short: "Show what is in a flow's file: the tree of workflows, and a table of its agents",
		Long: `Summary shows the tree of a file's workflows, as print(model) does in PyTorch, and a table
of its agents. Nothing is opened, and no key is needed; the tools of MCP servers are only
known when they are, so that their names stand for them.`,
		Example: "  rath summary review.yaml",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.summary(args[0]) },
	}
}

// summed is what summary shows.
type summed struct {
	File        string              `json:"file"`
	Digest      string              `json:"digest"`
	Fingerprint string              `json:"fingerprint"`
	Entry       string              `json:"entry"`
	Budget      string              `json:"budget,omitempty"`
	Tree        string              `json:"tree"`
	Agents      []flowfile.AgentRow `json:"agents"`
}

func (a *app) summary(name string) error {
	f, err := a.readFlow(name)
	if err != nil {
		return err
	}
	program, err := a.sketch(f)
	if err != nil {
		return err
	}
	var tree strings.Builder
	if err := flow.Fprint(&tree, program); err != nil {
		return err
	}
	sum := summed{name, f.Digest, flow.Fingerprint(program), f.Entry(), f.BudgetText(), tree.String(), flowfile.Agents(program)}
	if a.asJSON {
		return a.writeJSON(sum)
	}
	fmt.Fprintln(a.out, prose(sum.Tree))
	rows := make([]agentRow, len(sum.Agents))
	for i, r := range sum.Agents {
		rows[i] = agentRow{r}
	}
	if err := list(a, rows, "AGENT", "MODEL", "TOOLS", "MEMORY", "STEPS"); err != nil {
		return err
	}
	for _, r := range sum.Agents {
		if r.Policy != nil {
			fmt.Fprintf(a.out, "\npolicy of %s: %s\n", r.Name, printable(r.Policy.String()))
		}
	}
	_, err = fmt.Fprintf(a.out, "\nentry   %s\nbudget  %s\ndigest  %s\n", sum.Entry, cmp.Or(sum.Budget, "none"), sum.Digest)
	return err
}

type agentRow struct{ flowfile.AgentRow }

func (r agentRow) cells() []string {
	dash := func(text string) string { return cmp.Or(text, "-") }
	return []string{r.Name, r.Model, dash(strings.Join(r.Tools, ", ")), dash(r.Memory), fmt.Sprint(r.MaxSteps)}
}

// sketch builds a file's workflow with models, tools and a memory that only have names.
func (a *app) sketch(f *flowfile.File) (*flowfile.Program, error) {
	_, c, err := a.home()
	if err != nil {
		return nil, err
	}
	flags := runFlags{flow: f, file: f.Name}
	models, err := flags.choose(a, c)
	if err != nil {
		return nil, err
	}
	s := spec{MaxSteps: flow.DefaultMaxSteps}
	if err := s.useFlow(f, models); err != nil {
		return nil, err
	}
	var notes *memory.Store
	if m := f.Memory(); m != nil {
		s.Memory = &memorySpec{Memory: m.Store, Tokens: memory.DefaultTokens}
		if m.Tokens != nil {
			s.Memory.Tokens = *m.Tokens
		}
		s.Memory.Tools, s.Memory.Commit = m.Tools != nil && *m.Tools, m.Commit != nil && *m.Commit
		notes = memory.Unopened(m.Store)
		defer notes.Close()
	}
	return f.Build(&flowOpener{spec: s, file: f, memory: notes})
}
