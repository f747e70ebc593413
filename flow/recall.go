package flow

import (
	"context"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/session"
)

// What agents do with their memory.
type (
	// Told is what an agent was told of its memory before it asked the model.
	Told struct {
		At
		memory.Told
	}
	// Committed is what became of a session that an agent committed to its memory.
	Committed struct {
		At
		memory.Committed
	}
)

// recall puts what the agent's memory knows of the session in front of what the model is
// asked. It is no part of the session: a session that is merged, compressed or committed
// has nothing of it.
func (l *loop) recall(ctx context.Context) error {
	if l.agent.Memory == nil {
		return nil
	}
	told, err := l.agent.Memory.Tell(ctx, l.in, l.agent.Recall)
	if err != nil {
		return err
	}
	l.req.Prompt = l.req.Prompt.Append(told.Chunks...)
	for _, h := range told.Hits {
		l.told, l.worst = append(l.told, h.URI), worse(l.worst, h.Trust, len(l.told) == 0)
	}
	if l.emit != nil && (len(told.Chunks) > 0 || told.Notice != "") {
		l.emit(Told{l.where(), told})
	}
	return nil
}

// worse is the label that is worth less, the first one where there is none yet.
func worse(a, b memory.Trust, first bool) memory.Trust {
	if first || a.Better(b) == a {
		return b
	}
	return a
}

// toldExtras name the notes that the agent was told, and who said the least trusted of them.
func (l *loop) toldExtras() (extras []session.Extra) {
	for _, uri := range l.told {
		extras = append(extras, session.Extra{Key: memory.ToldExtra, Value: string(uri)})
	}
	if len(extras) > 0 {
		extras = append(extras, session.Extra{Key: memory.TrustExtra, Value: string(l.worst)})
	}
	return extras
}

// commit hands the finished session to the agent's memory.
func (l *loop) commit(ctx context.Context, out session.Session) error {
	if l.agent.Memory == nil || !l.agent.CommitOnForward {
		return nil
	}
	c, err := l.agent.Memory.Commit(ctx, out, &memory.CommitOptions{Used: l.told})
	if err == nil && l.emit != nil {
		l.emit(Committed{l.where(), c})
	}
	return err
}
