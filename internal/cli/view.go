package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/tool"
)

// view shows a run: the answer on stdout, what happens on stderr.
type view struct {
	a   *app
	run session.ID // set before the run begins

	many bool // agents speak, so that only the last word is the answer

	mu       sync.Mutex
	begun    bool
	midLine  bool // stdout, or the question on stderr, has an unfinished line
	answer   string
	used     session.Usage // by all sessions that were made
	answered bool          // the agent has come to its end, whatever becomes of the record
	problem  string        // with a snapshot, the last that was told
}

func (a *app) newView() *view { return &view{a: a} }

func (v *view) observe(e flow.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if end, ok := e.(flow.End); ok {
		v.answered = end.Err == nil
		v.used = v.used.Add(end.Session.Usage())
	}
	if v.a.asJSON {
		v.begin()
		if line := jsonEvent(e); line != nil {
			_ = v.a.writeJSON(line) // a reader that is gone does not stop the run: a.out remembers
		}
		return
	}
	switch e := e.(type) {
	case flow.Delta:
		if e.Attempt != nil {
			v.note("33", "retry", fmt.Sprintf("%v; attempt %d in %v", e.Attempt.Error, e.Attempt.Number+1, e.Attempt.Wait.Round(time.Millisecond)))
		}
		if e.Text != "" && v.a.terminal.out && !v.many {
			fmt.Fprint(v.a.out, prose(e.Text))
			v.midLine = !strings.HasSuffix(e.Text, "\n")
		}
	case flow.Reply:
		v.answer = e.Chunk.Text()
		v.endLine()
		if v.many && v.answer != "" {
			v.note("36", e.Path, oneLine(v.answer, 200))
		}
	case flow.Call:
		v.note("36", "call", e.Call.Name+" "+oneLine(e.Call.Arguments, 200))
	case flow.Result:
		answer := e.Chunk.Answer()
		if answer.Outcome != session.OK {
			v.note("31", answer.Outcome.String(), answer.Tool+": "+oneLine(problemText(e.Chunk.Text()), 300))
		}
		v.files(e.Change)
	case flow.End:
		v.made(e)
	case flow.Told:
		v.told(e.Told)
	case flow.Committed:
		v.note("36", "memory", committedText(e.Committed))
	}
}

// made says what a selector chose, and what a compression took out and where that is.
func (v *view) made(e flow.End) {
	if m, ok := madeOf(e.Session.ID(), e.Session.Lineage()); ok {
		word, text := m.line()
		v.note("36", word, text)
	}
}

// shownFiles is how many of the files that a call changed are named.
const shownFiles = 8

// files says what a call did to the files of the workspace.
func (v *view) files(c tool.Change) {
	sb := v.a.sandbox.Load()
	if sb == nil || c.Before == c.After && c.Problem == "" || c.Problem != "" && c.Problem == v.problem {
		return
	}
	v.problem = c.Problem
	lines := describeChange(context.Background(), sb.Workspace(), nil, c).text()
	for i, line := range lines {
		if i == shownFiles {
			line = fmt.Sprintf("and %d more", len(lines)-i)
		}
		v.note("36", "file", line)
		if i == shownFiles {
			return
		}
	}
}

// begin writes the first line of the NDJSON.
func (v *view) begin() {
	if !v.begun {
		v.begun = true
		_ = v.a.writeJSON(runBegun{"run", v.run})
	}
}

// ending is how a run has ended here.
type ending struct {
	out   session.Session
	state store.State
	took  time.Duration
	asks  []store.Interrupt
	err   error
}

// finish writes the answer, where it has not been streamed, and the last line.
func (v *view) finish(e ending) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.many {
		v.answered = e.state == store.Succeeded
	}
	if v.a.asJSON {
		v.begin()
		_ = v.a.writeJSON(v.result(e))
		return
	}
	v.endLine()
	if v.many && v.answered {
		fmt.Fprint(v.a.out, strings.TrimSuffix(prose(e.out.Text()), "\n")+"\n")
	} else if v.answered && !v.a.terminal.out {
		fmt.Fprint(v.a.out, strings.TrimSuffix(v.answer, "\n")+"\n")
	}
	u := v.used
	tokens := fmt.Sprintf("%d+%d tokens", u.Input, u.Output)
	if u.Unreported > 0 {
		tokens += fmt.Sprintf(" (%d of %d calls unreported)", u.Unreported, u.Calls)
	}
	line := fmt.Sprintf("%s · cost %s · %v · run %s", tokens, u.Cost, e.took.Round(time.Millisecond), v.run)
	if e.state.Ended() {
		line += " · session " + e.out.ID().String()
	}
	v.note("2", endWord(e.state), line)
	for _, q := range e.asks {
		v.note("33", "asks", q.Key+": "+questionText(q.Request))
	}
}

// endWord begins the last line.
func endWord(s store.State) string {
	switch s {
	case store.Waiting:
		return "waiting"
	case store.Queued, store.Running:
		return "put down"
	case store.Succeeded:
		return "done"
	}
	return strings.ReplaceAll(string(s), "_", " ")
}

// problemText is what a failed call says, without its JSON.
func problemText(text string) string {
	var f tool.Failure
	if json.Unmarshal([]byte(text), &f) != nil || f.Message == "" {
		return text
	}
	return f.Error()
}

// question asks on stderr.
func (v *view) question(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.endLine()
	fmt.Fprint(v.a.err, text)
}

func (v *view) endLine() {
	if v.midLine {
		fmt.Fprintln(v.a.out)
		v.midLine = false
	}
}

// note writes a line to stderr, its first word in color where that is wanted.
func (v *view) note(color, word, text string) {
	v.endLine()
	if v.a.colored() {
		word = "\x1b[" + color + "m" + word + "\x1b[0m"
	}
	fmt.Fprintln(v.a.err, word+": "+printable(text))
}
