// Package offline is the model that Rath has built in, so that everything can be tried
// without a key and without a network. It is no language model: it recognises plain
// requests by a few rules, calls the tools it is offered with real arguments, and
// reports from their real results. What it does not recognise it says it does not.
//
// It understands requests such as
//
//	Count the words in README.md
//	Read notes.txt
//	List the files in src
//	Find *.go
//	Search for "TODO" in src
//	Write "hello" to greeting.txt, then read greeting.txt
//	Run `go version`
//	Compute 2 + 3 * 4
//
// and, where a tool of the user's own is offered, requests that name what it does.
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
	asked, done := turn(req.Messages)
	p := &plan{tools: toolbox(req.Tools), done: done, round: req.Messages.Len()}
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

// turn returns the last user message and the calls since with their results.
func turn(t session.Transcript) (asked string, done []performed) {
	for _, c := range t.All() {
		switch c.Kind() {
		case session.KindUser:
			asked, done = c.Text(), nil
		case session.KindAssistant:
			for call := range c.Calls() {
				done = append(done, performed{call: call})
			}
		case session.KindToolResult:
			for i := range done {
				if done[i].call.ID == c.Answer().CallID && !done[i].answered {
					done[i].answered, done[i].result, done[i].outcome = true, c.Text(), c.Answer().Outcome
					break
				}
			}
		}
	}
	return asked, done
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
	tools toolbox
	done  []performed
	calls []session.Call // not performed yet
	round int
}

// call gives the result of a call, or notes that it is still to be made. A call is known
// by its arguments; the same call made twice has two results, in order.
func (p *plan) call(name string, arguments map[string]any) (result, bool) {
	args := encode(arguments)
	for i, d := range p.done {
		if !d.used && d.answered && d.call.Name == name && d.call.Arguments == args {
			p.done[i].used = true
			return result{d.result, d.outcome}, true
		}
	}
	id := fmt.Sprintf("offline_%d_%d", p.round, len(p.calls))
	p.calls = append(p.calls, session.Call{ID: id, Name: name, Arguments: args})
	return result{}, false
}
