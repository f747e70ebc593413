package flow

import (
	"context"
	"strconv"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// making is a session that is made outside of an agent's loop: one new node in the graph.
type making struct {
	in   session.Session
	step session.Step
	emit Observer // nil: nobody watches
}

// begin makes a session of in, in the scope of ctx.
func begin(ctx context.Context, in session.Session) *making {
	m := &making{in: in, emit: observerOf(ctx)}
	m.step = session.Step{Path: effect.Path(ctx), Run: RunOf(ctx)}
	m.step.ID, m.step.Time = in.Reserve() // what a Future has promised is the agent's
	if m.emit != nil {
		m.emit(Begin{m.where(), in.Derive(in.Transcript(), m.step)})
	}
	return m
}

func (m *making) where() At { return At{m.step.Path, m.step.ID} }

// note adds to the lineage.
func (m *making) note(key, value string) {
	m.step.Extras = append(m.step.Extras, session.Extra{Key: key, Value: value})
}

func (m *making) count(key string, n int) { m.note(key, strconv.Itoa(n)) }

// show tells of the attempts that failed. What the model says is not shown: it is no part
// of the conversation, and who watches would take it for an answer.
func (m *making) show() func(llm.Delta) {
	if m.emit == nil {
		return nil
	}
	return func(d llm.Delta) {
		if d.Attempt != nil {
			m.emit(Delta{m.where(), llm.Delta{Attempt: d.Attempt}})
		}
	}
}

// end makes the session, also where something failed.
func (m *making) end(ctx context.Context, op string, content session.Transcript, err error) (session.Session, error) {
	out := m.in.Derive(content, m.step)
	err = fail(ctx, out.ID(), op, err)
	if m.emit != nil {
		m.emit(End{m.where(), out, err})
	}
	return out, err
}
