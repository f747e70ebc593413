package flow

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// loop is one Forward of an agent under way.
type loop struct {
	agent   *Agent
	in      session.Session
	id      session.ID
	at      time.Time
	path    string
	runID   string   // of the run it belongs to
	emit    Observer // nil: nobody watches
	req     llm.Request
	content session.Transcript // of the session being made
	usage   session.Usage
	marks   []session.Mark // of the workspace
	told    []memory.URI   // of the agent's memory
	worst   memory.Trust   // of what was told
	prompt  session.Session
	made    []session.Link  // by its tools
	ended   []session.Extra // why it ended before the model answered
	form    *form           // of the answer; nil: any
	misfit  error           // what is wrong with the answer
}

func newLoop(ctx context.Context, a *Agent, s session.Session) *loop {
	l := &loop{agent: a, in: s, path: effect.Path(ctx), runID: RunOf(ctx), emit: observerOf(ctx), content: s.Transcript()}
	l.id, l.at = identity(ctx, s)
	l.prompt = a.promptSession()
	l.req = llm.Request{Prompt: l.prompt.Transcript(), Tools: a.Tools.Specs(), Params: a.Params}
	return l
}

// run goes round until the model calls no tool. It says what it was doing when it
// failed.
func (l *loop) run(ctx context.Context) (op string, err error) {
	l.interrupt(l.content.OpenCalls())
	if err := l.recall(ctx); err != nil {
		return "memory", err
	}
	for step := 0; ; step++ {
		if err := l.compress(ctx); err != nil {
			return "compress", err
		}
		reply, err := l.ask(ctx)
		if err != nil {
			return "model", err
		}
		calls := slices.Collect(reply.Chunk.Calls())
		switch {
		case len(calls) == 0 && l.mends(reply):
			continue
		case len(calls) == 0:
			return "output", l.misfit
		case reply.Stop == llm.StopLength || reply.Stop == llm.StopFilter:
			l.interrupt(calls) // cut off: the calls may not be whole
			return "", nil
		case step >= l.agent.maxSteps():
			l.interrupt(calls)
			return "tools", ErrMaxSteps
		}
		if err := l.dispatch(ctx, calls); err != nil {
			return "tools", err
		}
		if l.stops() {
			return "", nil
		}
		l.chooseFreely()
	}
}

// compress ends the session as far as it is where it has become too long, and goes on in
// one with a summary. Before the first round there is nothing to end: see Agent.Forward.
func (l *loop) compress(ctx context.Context) error {
	a := l.agent
	if l.content.Len() == l.in.Len() || !a.Compress.due(l.req.Prompt, l.content, a.CompressAt) {
		return nil
	}
	id, at := l.id, l.at // promised to who began the loop, so they are the last session's
	l.id, l.at = l.in.Reserve()
	l.begin()
	part := l.session(nil)
	err := l.commit(ctx, part)
	l.end(part, err)
	in := part
	if err == nil {
		in, err = a.Compress.compress(ctx, part)
	}
	l.id, l.at, l.in, l.content = id, at, in, in.Transcript()
	l.usage, l.marks, l.made = session.Usage{}, nil, nil
	return err
}

// ask has the model reply and adds the reply, or what came of it, to the session.
func (l *loop) ask(ctx context.Context) (llm.Reply, error) {
	l.req.Messages = l.content
	var show func(llm.Delta)
	if l.emit != nil {
		show = func(d llm.Delta) { l.emit(Delta{l.where(), d}) }
	}
	reply, err := l.form.ask(ctx, l.agent.Model, &l.req, show)
	l.accept(reply, err)
	return reply, err
}

// accept adds a reply. Of a broken one it keeps the words and drops the calls, which
// may not be whole.
func (l *loop) accept(reply llm.Reply, err error) {
	chunk := reply.Chunk
	if err != nil {
		parts := slices.Collect(chunk.Parts())
		if len(parts) == 0 {
			return
		}
		chunk = session.Assistant(parts)
	}
	l.usage = l.usage.Add(reply.Usage)
	l.content = l.content.Append(chunk)
	if l.emit != nil {
		l.emit(Reply{l.where(), chunk, reply.Usage, reply.Stop})
	}
}

// dispatch runs the calls and adds their results.
func (l *loop) dispatch(ctx context.Context, calls []session.Call) error {
	if err := ledgerOf(ctx).admit(ctx, len(calls)); err != nil {
		l.interrupt(calls)
		return err
	}
	d := tool.Dispatch{Tools: l.agent.Tools, Policy: l.agent.Policy, Owner: owner(ctx, l.id)}
	if l.emit != nil {
		d.Started = func(c session.Call) { l.emit(Call{l.where(), c}) }
		d.Finished = func(d tool.Done) { l.emit(Result{l.where(), d.Chunk, d.Took, d.Change}) }
	}
	done, err := d.Run(ctx, l.draft(session.Step{Extras: l.toldExtras()}), calls)
	results := make([]session.Chunk, len(done))
	for i, d := range done {
		results[i] = d.Chunk
		l.link(d.Made)
	}
	begin := l.content.Len()
	l.add(results)
	l.mark(begin, done)
	return err
}

// link makes what tools made parents of the session.
func (l *loop) link(made []session.Session) {
	for _, s := range made {
		l.made = append(l.made, session.Link{Session: s, Role: RoleTool})
	}
}

// mark notes what the files of the workspace were before the calls and after. The version
// with the highest number has what all of them changed.
func (l *loop) mark(begin int, done []tool.Done) {
	var first, last tool.Change
	for _, d := range done {
		if first.Before == "" {
			first = d.Change
		}
		if d.Change.Number > last.Number {
			last = d.Change
		}
	}
	if len(l.marks) == 0 {
		begin = l.in.Len() // nothing was changed since, as far as is known
	}
	l.markAt(begin, first.Before)
	l.markAt(l.content.Len(), last.After)
}

// markAt notes a snapshot, unless there is none or it is what it was.
func (l *loop) markAt(n int, id sandbox.SnapshotID) {
	if last, _ := l.lastMark(); id != "" && id != last {
		l.marks = append(l.marks, session.Mark{Len: n, Snapshot: id})
	}
}

func (l *loop) lastMark() (sandbox.SnapshotID, bool) {
	if n := len(l.marks); n > 0 {
		return l.marks[n-1].Snapshot, true
	}
	return l.in.Snapshot()
}

// interrupt answers calls that nobody runs.
func (l *loop) interrupt(calls []session.Call) {
	var results []session.Chunk
	for _, call := range calls {
		results = append(results, tool.Interrupted(call))
	}
	l.add(results)
}

func (l *loop) add(results []session.Chunk) {
	l.content = l.content.Append(results...)
	if l.emit != nil && len(results) > 0 {
		l.emit(Added{l.where(), results})
	}
}

// draft is the session as far as it is.
func (l *loop) draft(step session.Step) session.Session {
	step.ID, step.Time = l.id, l.at
	return l.in.Derive(l.content, step)
}

// session makes the result: the one node that this Forward adds to the graph.
func (l *loop) session(err error) session.Session {
	step := session.Step{Usage: l.usage, Path: l.path, Run: l.runID, Marks: l.marks, Extras: append(l.toldExtras(), l.ended...)}
	if l.prompt.Len() > 0 {
		step.Parents = []session.Link{{Session: l.prompt, Role: session.RolePrompt}}
	}
	step.Parents = append(step.Parents, l.made...)
	if errors.Is(err, ErrMaxSteps) {
		step.Extras = append(step.Extras, session.Extra{Key: "loop.truncated", Value: "true"})
	} else if err != nil {
		step.Extras = append(step.Extras, session.Extra{Key: "loop.error", Value: err.Error()})
	}
	return l.draft(step)
}

func (l *loop) where() At { return At{l.path, l.id} }

func (l *loop) begin() {
	if l.emit != nil {
		l.emit(Begin{l.where(), l.session(nil)})
	}
}

func (l *loop) end(out session.Session, err error) {
	if l.emit != nil {
		l.emit(End{l.where(), out, err})
	}
}
