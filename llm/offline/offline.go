// Package offline is the model that Rath has built in, so that everything can be tried
// without a key and without a network. It is no language model: it recognises plain
// requests by a few rules, calls the tools it is offered with real arguments, and
// reports from their real results. What it does not recognise it says it does not.
//
// It understands requests such as
//
//	Count the words in README.md
//	How often does "TODO" occur in main.go
//	Count the files in src
//	List the files in src
//	Find *.go
//	Search for "TODO" in src
//	Show me README.md
//	Write hello to notes.txt, then read it
//	Append bye to notes.txt
//	Run `go version`
//	Calculate 2 + 3 * 4
//
// and, where a tool of the user's own is offered, requests that name what it does.
//
// Next: [github.com/openrath-go/rath/store/sqlite], a store in one file.
package offline

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// Notice is what a program should tell its user when it answers with this model.
const Notice = "offline: this is a rule-follower built into rath, not a language model; choose one with --model"

type model struct{}

// New returns the model. It has no state, and is safe for concurrent use.
func New() llm.Model { return model{} }

func (model) String() string { return "offline:" }

// Stream derives the reply from the transcript alone: the last user message says what is
// asked, the calls and results after it what has been done.
func (model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Delta{}, err)
			return
		}
		text, calls := reply(req)
		for _, word := range strings.SplitAfter(text, " ") {
			if word != "" && !yield(llm.Delta{Text: word}, nil) {
				return
			}
		}
		for i, c := range calls {
			if !yield(llm.Delta{Call: &llm.CallDelta{Index: i, ID: c.ID, Name: c.Name, Arguments: c.Arguments}}, nil) {
				return
			}
		}
		stop := llm.StopEnd
		if len(calls) > 0 {
			stop = llm.StopCalls
		}
		yield(llm.Delta{Usage: &session.Usage{}, Stop: stop, Model: "offline"}, nil)
	}
}

// reply is the text of an answer, or the calls whose results it still needs.
func reply(req *llm.Request) (string, []session.Call) {
	p := &plan{tools: req.Tools, round: req.Messages.Len()}
	asked := p.turn(req.Messages)
	if helpRE.MatchString(asked) {
		return p.tools.help(""), nil
	}
	stages := parse(asked, p.tools)
	if len(stages) == 0 {
		return p.tools.help(asked), nil
	}
	var answers []string
	for _, stage := range stages {
		for _, s := range stage {
			if answer, ok := s(p); ok {
				answers = append(answers, answer)
			}
		}
		if len(p.calls) > 0 {
			return "", p.calls // the next stage builds on what these do
		}
	}
	return strings.Join(answers, "\n"), nil
}

// turn returns the last user message, and notes the calls since with their results.
func (p *plan) turn(t session.Transcript) (asked string) {
	for _, c := range t.All() {
		switch c.Kind() {
		case session.KindUser:
			asked, p.done, p.rounds = c.Text(), nil, 0
		case session.KindAssistant:
			p.rounds++
			for call := range c.Calls() {
				p.done = append(p.done, performed{call: call})
			}
		case session.KindToolResult:
			p.answer(c.Answer(), c.Text())
		}
	}
	return asked
}

func (p *plan) answer(a session.Answer, text string) {
	for i, d := range p.done {
		if d.call.ID == a.CallID && !d.answered {
			p.done[i].answered, p.done[i].result, p.done[i].outcome = true, text, a.Outcome
			return
		}
	}
}

// performed is a call of this turn and what it gave.
type performed struct {
	call     session.Call
	answered bool
	used     bool
	result   string
	outcome  session.Outcome
}

// plan runs the steps of a request against what has been done already.
type plan struct {
	tools  toolbox
	done   []performed
	calls  []session.Call // not performed yet
	round  int            // of the session, for ids
	rounds int            // of calls, since the request
}

// find gives the result of a call that was made. A call is known by its arguments; the
// same call made twice has two results, in order.
func (p *plan) find(name string, arguments map[string]any) (result, bool) {
	args := encode(arguments)
	for i, d := range p.done {
		if !d.used && d.answered && d.call.Name == name && d.call.Arguments == args {
			p.done[i].used = true
			return result{d.result, d.outcome}, true
		}
	}
	return result{}, false
}

// ask notes that a call is still to be made.
func (p *plan) ask(name string, arguments map[string]any) {
	id := fmt.Sprintf("offline_%d_%d", p.round, len(p.calls))
	p.calls = append(p.calls, session.Call{ID: id, Name: name, Arguments: encode(arguments)})
}

// call finds a call's result, or asks for it.
func (p *plan) call(name string, arguments map[string]any) (result, bool) {
	r, ok := p.find(name, arguments)
	if !ok {
		p.ask(name, arguments)
	}
	return r, ok
}
