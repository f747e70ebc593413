package flow

import (
	"slices"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// Stop says whether an agent is to end, given the session as far as it is, its usage
// included.
type Stop func(s session.Session) bool

// StopAfter stops when one of the tools has answered in the last round, and not with a
// failure.
func StopAfter(tools ...string) Stop {
	return func(s session.Session) bool {
		return slices.ContainsFunc(lastResults(s.Transcript()), func(a session.Answer) bool {
			return a.Outcome == session.OK && slices.Contains(tools, a.Tool)
		})
	}
}

// lastResults are the answers of the tools at the end of a transcript, in order.
func lastResults(t session.Transcript) (answers []session.Answer) {
	for i := t.Len() - 1; i >= 0 && t.At(i).Kind() == session.KindToolResult; i-- {
		answers = append(answers, t.At(i).Answer())
	}
	slices.Reverse(answers)
	return answers
}

// What a session's lineage says of an agent that ended before the model answered.
const (
	extraFinal   = "loop.final"   // the tool that ended it
	extraStopped = "loop.stopped" // "true": Stop did
)

// stops reports whether the agent ends after a round of calls, and notes why.
func (l *loop) stops() bool {
	for _, a := range lastResults(l.content) {
		if t := l.agent.Tools.Find(a.Tool); t != nil && t.Final && a.Outcome == session.OK {
			l.ended = append(l.ended, session.Extra{Key: extraFinal, Value: t.Name})
			return true
		}
	}
	if l.agent.Stop == nil || !l.agent.Stop(l.session(nil)) {
		return false
	}
	l.ended = append(l.ended, session.Extra{Key: extraStopped, Value: "true"})
	return true
}

// chooseFreely lets the model answer after a round in which it had to call a tool.
func (l *loop) chooseFreely() {
	switch c := &l.req.Params.ToolChoice; c.Mode {
	case llm.ToolRequired, llm.ToolNamed:
		*c = llm.ToolChoice{Mode: llm.ToolAuto}
	}
}
