package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// DefaultMaxDepth is how deep workflows call each other as tools unless they say otherwise.
const DefaultMaxDepth = 4

// ErrDepth is what a model is told that has a workflow called within too many others.
var ErrDepth = errors.New("workflows call each other too deep")

// The parents of what is made when a workflow is a tool.
const (
	RoleCaller session.Role = "caller" // of a task: what the agent that gives it began with
	RoleTool   session.Role = "tool"   // of a session: what was made in one of its tool calls
)

// ToolOptions say how a workflow is a tool. nil is the zero value.
type ToolOptions struct {
	Name        string // empty: the workflow's, with _ for what a tool's name cannot have
	Description string // empty: what the workflow says of itself
	MaxDepth    int    // how many such tools may be within each other, this one included; 0: DefaultMaxDepth
}

// AsTool makes a tool of a workflow: a model gives it a task in words, and gets the last
// thing that the workflow says. See [AsToolOf].
func AsTool(w Workflow, o *ToolOptions) *tool.Tool {
	type input struct {
		Task string `json:"task" jsonschema:"what is to be done, with all that one must know for it"`
	}
	return AsToolOf(w, func(in input) string { return in.Task }, o)
}

// AsToolOf makes a tool of a workflow whose arguments are an In, as with [tool.New]; task
// makes words of them.
//
// Each call has a session of its own that begins with the task, on the caller's sandbox. Its
// lineage begins with what the caller began with, and what comes of it becomes a parent of
// the caller's session. Budgets, models and approvals of the context hold within it. What
// goes wrong is told to the model, also ErrDepth; only an ErrFatal and the end of the
// context stop the caller.
//
// The call is an effect, and so is each thing within. A call that has ended is answered
// from the record whole. One that was stopped is entered again, and goes on after what it
// had done: that is why its class is Idempotent whatever the workflow does, and why it
// locks nothing.
func AsToolOf[In any](w Workflow, task func(In) string, o *ToolOptions) *tool.Tool {
	if o == nil {
		o = &ToolOptions{}
	}
	d := delegate{w, cmp.Or(o.MaxDepth, DefaultMaxDepth)}
	name := cmp.Or(o.Name, toolName("", NameOf(w)))
	t := tool.New(name, cmp.Or(o.Description, describe(w)), func(context.Context, In) (tool.Result, error) { return tool.Result{}, nil })
	t.Run = func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
		var in In
		if err := json.Unmarshal(arguments, &in); err != nil {
			return tool.Result{}, fmt.Errorf("decode the arguments of %s: %w", name, err)
		}
		return d.run(ctx, task(in))
	}
	t.Class, t.Origin = effect.Idempotent, w
	t.Locks = func(context.Context, json.RawMessage) ([]tool.Lock, error) { return nil, nil }
	return t
}

// delegate is a workflow that does tasks.
type delegate struct {
	workflow Workflow
	most     int
}

type depthKey struct{}

func (d delegate) run(ctx context.Context, task string) (tool.Result, error) {
	depth, _ := ctx.Value(depthKey{}).(int)
	if depth++; depth > d.most {
		return tool.Result{}, fmt.Errorf("%w: %d are the most", ErrDepth, d.most)
	}
	ctx = context.WithValue(ctx, depthKey{}, depth)
	out, err := Forward(ctx, "", d.workflow, begun(ctx, task))
	return tool.Result{Parts: saidLast(out), Made: []session.Session{out}}, err
}

// begun is the session of a task. It is made through the journal, as all others are.
func begun(ctx context.Context, task string) session.Session {
	caller := tool.SessionOf(ctx)
	step := session.Step{Op: session.OpLeaf, Path: effect.Path(ctx), Run: RunOf(ctx)}
	for _, p := range caller.Parents() { // the caller's own session is not made yet
		step.Parents = append(step.Parents, session.Link{Session: p, Role: RoleCaller})
	}
	content := session.Transcript{}.Append(session.User(session.Text(task)))
	return journaled(ctx, session.Session{}.To(caller.Sandbox())).Derive(content, step)
}

// saidLast is what a session ends with, without what only its model can read.
func saidLast(s session.Session) (parts []session.Part) {
	for p := range s.Transcript().Last().Parts() {
		if p.Kind != session.PartReasoning {
			p.Extra = ""
			parts = append(parts, p)
		}
	}
	return parts
}

// toolName makes a name that all servers take: letters, digits, _ and -, 64 at most.
func toolName(prefix, name string) string {
	name = prefix + strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), 64)]
}

// delegates are the workflows that an agent has as tools.
func (a *Agent) delegates() (found []Child) {
	for _, t := range a.Tools {
		if t == nil {
			continue
		}
		if w, ok := t.Origin.(Workflow); ok {
			found = append(found, Child{fmt.Sprintf("%s%q]", toolField, t.Name), orNil(w)})
		}
	}
	return found
}

const toolField = "Tools["

// called reports whether the workflow at the end of a path comes again on it only because
// one calls the other as a tool, which is bounded.
func called(path []Child) bool {
	last := path[len(path)-1]
	for i := len(path) - 1; i > 0; i-- {
		if _, ok := path[i-1].Workflow.(*Agent); ok && strings.HasPrefix(path[i].Name, toolField) {
			return true
		}
		if same(path[i-1].Workflow, last.Workflow) {
			break
		}
	}
	return false
}
