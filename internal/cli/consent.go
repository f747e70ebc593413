package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/spf13/cobra"
)

// consent says who decides about the calls that can change something.
type consent struct{ yes, askLater bool }

func (c *consent) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.yes, "yes", false, "let tools change things without asking")
	cmd.Flags().BoolVar(&c.askLater, "ask-later", false, "put the run down where it has a question, to be answered with rath runs decide")
	cmd.PreRunE = atMostOne("yes", "ask-later")
}

// deciding is who decides in a run.
type deciding struct {
	approver tool.Approver
	decider  flow.Decider // on the terminal; nil: the questions are kept
}

// newRun is for a run that begins: where nobody can be asked, calls are refused.
func (c consent) newRun(a *app, v *view) deciding {
	if c.yes {
		asked := consent{}.newRun(a, v)
		return deciding{unlessRuled(tool.AllowAll, asked.approver), asked.decider}
	}
	if d := c.resumed(a, v, nil); d.decider != nil || c.askLater {
		return d
	}
	return deciding{approver: refuseUnasked}
}

// resumed is for a run that goes on: where nobody can be asked it waits, for its
// questions may have been answered meanwhile.
func (c consent) resumed(a *app, v *view, asked map[string]bool) deciding {
	switch {
	case c.yes:
		return deciding{unlessRuled(allowUnasked(asked), flow.AskFirst), approveCalls(consent{}.resumed(a, v, nil).decider)}
	case !c.askLater && a.terminal.in && !a.asJSON:
		if out := a.terminalFor(v); out != nil {
			return deciding{flow.AskFirst, (&asker{in: a.in, out: out}).decide}
		}
	}
	return deciding{approver: flow.AskFirst}
}

// unlessRuled is an approver of --yes: where a rule wants somebody to be asked, ask does that.
func unlessRuled(yes, ask tool.Approver) tool.Approver {
	return func(ctx context.Context, t *tool.Tool, call session.Call) (tool.Decision, error) {
		if tool.JudgmentOf(ctx).Verdict == tool.Ask {
			return ask(ctx, t, call)
		}
		return yes(ctx, t, call)
	}
}

func refuseUnasked(ctx context.Context, t *tool.Tool, _ session.Call) (tool.Decision, error) {
	if j := tool.JudgmentOf(ctx); j.Verdict == tool.Ask {
		return tool.Decision{Reason: "somebody must be asked about this call, and there is no terminal to ask on: " + j.Reason}, nil
	}
	reason := t.Name + " can change something, and there is no terminal to ask on; the user can allow it with --yes"
	if t.Class == effect.ReadOnly {
		reason = t.Name + " needs an approval, and there is no terminal to ask on; the user can allow it with --yes"
	}
	return tool.Decision{Reason: reason}, nil
}

// allowUnasked allows every call but those about which the run has asked: a decision
// that was made stands.
func allowUnasked(asked map[string]bool) tool.Approver {
	return func(ctx context.Context, t *tool.Tool, call session.Call) (tool.Decision, error) {
		if asked[call.ID] {
			return flow.AskFirst(ctx, t, call)
		}
		return tool.Decision{Allow: true}, nil
	}
}

// approveCalls is the decider of --yes. What a rule wants somebody to be asked about is for
// ask, and waits where that is nil.
func approveCalls(ask flow.Decider) flow.Decider {
	return func(ctx context.Context, q flow.Question) (flow.Decision, error) {
		ruled := tool.JudgmentOf(ctx).Verdict == tool.Ask
		switch {
		case ruled && ask != nil:
			return ask(ctx, q)
		case ruled, q.Kind != flow.KindApproval:
			return flow.Decision{}, run.ErrLater
		}
		return flow.Decision{Verdict: flow.Approve, By: "--yes"}, nil
	}
}

// askedCalls are the calls that a run has asked about, by their ids.
func (r *records) askedCalls(ctx context.Context, id session.ID) (map[string]bool, error) {
	asked := map[string]bool{}
	for i, err := range r.Interrupts(ctx, id) {
		if err != nil {
			return nil, err
		}
		var q flow.Request
		if json.Unmarshal(i.Request, &q) == nil && q.Call != nil {
			asked[q.Call.ID] = true
		}
	}
	return asked, nil
}

// questionText says in a line what is asked.
func questionText(request json.RawMessage) string {
	var q flow.Request
	if json.Unmarshal(request, &q) != nil {
		return string(request)
	}
	return textOf(q)
}

func textOf(q flow.Request) string {
	if q.Call != nil {
		return "allow " + q.Call.Tool + " " + plainly(q.Call.Arguments) + "?"
	}
	return strings.TrimSpace(q.Message + " " + string(q.Data))
}
