package flow

import (
	"context"
	"sync/atomic"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/internal/telemetry"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// DefaultMaxSteps is how many rounds of tool calls an agent has unless it says
// otherwise.
const DefaultMaxSteps = 64

// Agent is one layer: a prompt, a model and tools. Forward asks the model, runs the
// tools that it calls, tells it the results, and so on until it calls none; the prompt
// stays out of the resulting session. Set the fields before the first use; then an
// Agent is safe for concurrent use.
type Agent struct {
	Name        string    // in paths and prints; empty: "agent"
	Description string    // what the agent is for, for a router
	Prompt      string    // the system prompt; empty: none
	Model       llm.Model // that of llm.WithModel comes before it
	Params      llm.Params
	Tools       tool.Set
	MaxSteps    int // rounds of tool calls; 0: DefaultMaxSteps

	// Policy judges this agent's calls; those of agents that are its tools are judged by
	// their own. nil: who is asked about calls is said by ctx alone. It is no security
	// boundary: see [tool.Policy].
	Policy tool.Policy
	// Stop is asked after each round of tool calls, with the session as far as it is; yes
	// ends it well, with the results of those calls. It must go by the session alone, so
	// that a resumed run stops in the same place. nil: never.
	Stop Stop

	// Memory is recalled before each Forward, as Recall says, and told to the model in front
	// of the session. nil: there is none.
	Memory *memory.Store
	Recall memory.Injection
	// CommitOnForward commits each session that comes to its end to Memory.
	CommitOnForward bool

	// Compress is run when the prompt and the session are longer than CompressAt tokens, as it
	// estimates: before the first round, and between rounds. 0: never.
	Compress   *Compressor `flow:"optional"`
	CompressAt int

	prompt atomic.Pointer[session.Session] // of Prompt, made on first use
}

// WorkflowName returns the agent's name.
func (a *Agent) WorkflowName() string {
	if a.Name == "" {
		return "agent"
	}
	return a.Name
}

// Describe returns the description.
func (a *Agent) Describe() string { return a.Description }

// Forward runs the agent on a session: one new session, s, the prompt's session and what
// its tools say they have made its parents. It ends when the model calls no tool, when a
// tool that is Final succeeded, or when Stop says so; and with ErrMaxSteps, a *llm.Error, a
// tool's ErrFatal or ctx's error otherwise; the chunks until then are in the session
// that comes with the error. A call that s leaves without a result is first answered
// as interrupted.
//
// A tool choice that makes the model call a tool holds for the first round: then it is free
// to choose, or it could never answer.
func (a *Agent) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	return a.forward(ctx, s, nil)
}

func (a *Agent) forward(ctx context.Context, s session.Session, f *form) (out session.Session, err error) {
	ctx = effect.Scope(ctx, a.WorkflowName())
	model := llm.Override(ctx, a.Model)
	if model == nil {
		return s, fail(ctx, s.ID(), "model", missing("model"))
	}
	ctx, told := telemetry.StartAgent(ctx, a.WorkflowName(), a.Description, model)
	defer func() { told.End(err) }()
	if DeciderOf(ctx) != nil {
		ctx = tool.WithAsker(ctx, AskFirst)
	}
	s = journaled(ctx, s)
	if a.Compress.due(a.promptSession().Transcript(), s.Transcript(), a.CompressAt) {
		compressed, err := a.Compress.compress(ctx, s)
		if err != nil {
			return compressed, err
		}
		s = compressed
	}
	l := newLoop(ctx, a, s)
	ctx = told.Making(ctx, l.id)
	l.bind(f)
	l.begin()
	op, err := l.run(ctx)
	out = l.session(err)
	if err == nil {
		op, err = "memory", l.commit(ctx, out)
	}
	err = fail(ctx, out.ID(), op, err)
	l.end(out, err)
	return out, err
}

func (a *Agent) maxSteps() int {
	if a.MaxSteps == 0 {
		return DefaultMaxSteps
	}
	return a.MaxSteps
}

// promptSession is the parent that every session of this agent shares. Its id is that of
// its content, the same in every process.
func (a *Agent) promptSession() session.Session {
	if a.Prompt == "" {
		return session.Session{}
	}
	if p := a.prompt.Load(); p != nil {
		return *p
	}
	content := session.FromSystem(a.Prompt).Transcript()
	p := session.Restore(session.Record{
		ID: session.ContentID(content.Digest()), Content: content, Lineage: session.Lineage{Op: session.OpLeaf},
	})
	if !a.prompt.CompareAndSwap(nil, &p) {
		return *a.prompt.Load()
	}
	return p
}
