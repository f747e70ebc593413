package flow

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// handoverPrefix begins the names of the tools that hand a conversation over.
const handoverPrefix = "transfer_to_"

// handover is what such a tool is made of.
type handover struct{ to *Agent }

// Handover makes a tool for each agent, "transfer_to_" and its name, by which a model hands
// the conversation over to it. The agent that has the tool ends there; a [Team] goes on.
func Handover(to ...*Agent) tool.Set {
	tools := make(tool.Set, len(to))
	for i, a := range to {
		tools[i] = handoverTo(a)
	}
	return tools
}

func handoverTo(a *Agent) *tool.Tool {
	type input struct {
		Reason string `json:"reason,omitempty" jsonschema:"why, in a short sentence"`
	}
	name := a.WorkflowName()
	t := tool.New(handoverName(a), strings.TrimSpace("Hand the conversation over to "+name+", who goes on with it in your place. "+a.Description),
		func(ctx context.Context, _ input) (string, error) {
			if first := firstHandover(ctx); first != tool.CallOf(ctx).ID {
				return "", errors.New("the conversation can be handed over to one only, and another was called first")
			}
			return "The conversation goes on with " + name + ".", nil
		})
	t.Class, t.Final, t.Origin = effect.ReadOnly, true, &handover{a}
	return t
}

func handoverName(a *Agent) string { return toolName(handoverPrefix, a.WorkflowName()) }

// firstHandover is the id of the first call that hands over in the reply which is answered.
func firstHandover(ctx context.Context) string {
	for call := range tool.SessionOf(ctx).Transcript().Last().Calls() {
		if strings.HasPrefix(call.Name, handoverPrefix) {
			return call.ID
		}
	}
	return tool.CallOf(ctx).ID
}

// DefaultMaxHandovers is how often a conversation is handed over in one Forward unless the
// team says otherwise.
const DefaultMaxHandovers = 8

// ErrMaxHandovers is returned when agents still hand over to each other after the last time
// they were allowed.
var ErrMaxHandovers = errors.New("the agents did not stop handing over")

// Team is agents that hand one conversation over to each other. Give each the tools for
// that with [Handover]. Set its fields before the first use; then it is safe for concurrent
// use.
type Team struct {
	Name         string // in paths and prints; may be empty
	Agents       []*Agent
	MaxHandovers int // in one Forward; 0: DefaultMaxHandovers
}

// WorkflowName returns the team's name.
func (t *Team) WorkflowName() string {
	if t.Name == "" {
		return "team"
	}
	return t.Name
}

// Forward goes on with the agent that the conversation was handed over to last, or with the
// first one, until an agent answers and does not hand over. Each adds a session of its own;
// the lineage of one that handed over says with which tool. The error is the agent's, or
// ErrMaxHandovers.
func (t *Team) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	ctx = effect.Scope(ctx, t.WorkflowName())
	if err := t.Check(); err != nil {
		return s, fail(ctx, s.ID(), "team", err)
	}
	a := t.current(s.Transcript())
	for n := 0; ; n++ {
		var err error
		if s, err = Forward(ctx, "", a, s); err != nil {
			return s, err
		}
		next := t.handed(lastResults(s.Transcript()))
		switch {
		case next == nil:
			return s, nil
		case n >= t.maxHandovers():
			return s, fail(ctx, s.ID(), "team", fmt.Errorf("%w: %d times are the most", ErrMaxHandovers, n))
		}
		a = next
	}
}

// current is the agent whose turn it is.
func (t *Team) current(content session.Transcript) *Agent {
	a := t.Agents[0]
	for _, c := range content.All() {
		if next := t.handed([]session.Answer{c.Answer()}); next != nil {
			a = next
		}
	}
	return a
}

// handed is the agent that one of the answers hands over to, nil if none does.
func (t *Team) handed(answers []session.Answer) *Agent {
	for _, answer := range answers {
		if answer.Outcome != session.OK || !strings.HasPrefix(answer.Tool, handoverPrefix) {
			continue
		}
		for _, a := range t.Agents {
			if handoverName(a) == answer.Tool {
				return a
			}
		}
	}
	return nil
}

func (t *Team) maxHandovers() int {
	if t.MaxHandovers == 0 {
		return DefaultMaxHandovers
	}
	return t.MaxHandovers
}

func (t *Team) title() string { return fmt.Sprintf("Team(%q)", t.WorkflowName()) }

func (t *Team) fingerprint(h hash.Hash) { fmt.Fprintln(h, t.maxHandovers()) }

// Check reports what would keep the team from working: no agents, names that cannot be told
// apart, or hand-overs to others than its agents.
func (t *Team) Check() error {
	var errs []error
	if len(t.Agents) == 0 {
		errs = append(errs, missing("agent"))
	}
	if t.MaxHandovers < 0 {
		errs = append(errs, fmt.Errorf("MaxHandovers is %d", t.MaxHandovers))
	}
	names := map[string]bool{}
	for i, a := range t.Agents {
		if a == nil {
			errs = append(errs, fmt.Errorf("agent %d: %w", i, missing("agent")))
			continue
		}
		if names[handoverName(a)] {
			errs = append(errs, fmt.Errorf("there are two agents with the name %q", a.WorkflowName()))
		}
		names[handoverName(a)] = true
	}
	return errors.Join(append(errs, t.checkHandovers())...)
}

func (t *Team) checkHandovers() error {
	in := map[*Agent]bool{}
	for _, a := range t.Agents {
		in[a] = true
	}
	var errs []error
	for _, a := range t.Agents {
		if a == nil {
			continue
		}
		for _, x := range a.Tools {
			if h, ok := x.Origin.(*handover); ok && !in[h.to] {
				errs = append(errs, fmt.Errorf("%s hands over to %s, who is not in the team", a.WorkflowName(), h.to.WorkflowName()))
			}
		}
	}
	return errors.Join(errs...)
}
