package flowfile

import (
	"github.com/openrath-go/rath/flow"
)

// AgentRow is an agent of a program, for a table.
type AgentRow struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Model       string   `json:"model"`
	Tools       []string `json:"tools"` // with mcp:NAME for those of a server
	Memory      string   `json:"memory,omitempty"`
	Commit      bool     `json:"commit,omitempty"`
	MaxSteps    int      `json:"max_steps"`
	Policy      *Policy  `json:"policy,omitempty"`
}

// Agents lists the agents of a program, each once, in the order of its tree.
func Agents(p *Program) []AgentRow {
	rows := []AgentRow{}
	seen := map[*flow.Agent]bool{}
	for _, w := range flow.Inspect(p) {
		a, ok := w.(*flow.Agent)
		if !ok || seen[a] {
			continue
		}
		seen[a] = true
		row := AgentRow{Name: a.Name, Description: a.Description, Model: a.Model.String(), Tools: []string{}, Commit: a.CommitOnForward, MaxSteps: a.MaxSteps}
		row.Policy = p.file.spec.Agents[a.Name].Policy
		for _, t := range a.Tools {
			row.Tools = append(row.Tools, t.Name)
		}
		for _, server := range p.file.spec.Agents[a.Name].MCP {
			row.Tools = append(row.Tools, "mcp:"+server)
		}
		if a.Memory != nil {
			row.Memory = a.Memory.String()
		}
		rows = append(rows, row)
	}
	return rows
}

// BudgetText is the budget of the whole file in words, empty if it has none.
func (f *File) BudgetText() string {
	if f.spec.Budget == nil {
		return ""
	}
	return LimitsText(f.spec.Budget.budget(""))
}
