package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// view shows a run: the answer on stdout, what happens on stderr.
type view struct {
	a *app

	mu      sync.Mutex
	midLine bool // stdout, or the question on stderr, has an unfinished line
	answer  string
}

func (a *app) newView() *view { return &view{a: a} }

func (v *view) observe(e flow.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.a.asJSON {
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
		if e.Text != "" && v.a.terminal.out {
			fmt.Fprint(v.a.out, prose(e.Text))
			v.midLine = !strings.HasSuffix(e.Text, "\n")
		}
	case flow.Reply:
		v.answer = e.Chunk.Text()
		v.endLine()
	case flow.Call:
		v.note("36", "call", e.Call.Name+" "+oneLine(e.Call.Arguments, 200))
	case flow.Result:
		answer := e.Chunk.Answer()
		if answer.Outcome != session.OK {
			v.note("31", answer.Outcome.String(), answer.Tool+": "+oneLine(problemText(e.Chunk.Text()), 300))
		}
	}
}

// finish writes the answer, where it has not been streamed, and the last line.
func (v *view) finish(out session.Session, took time.Duration, answered bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.a.asJSON {
		_ = v.a.writeJSON(resultJSON(out, took, answered, err))
		return
	}
	v.endLine()
	if answered && !v.a.terminal.out {
		fmt.Fprint(v.a.out, strings.TrimSuffix(v.answer, "\n")+"\n")
	}
	u := out.Usage()
	tokens := fmt.Sprintf("%d+%d tokens", u.Input, u.Output)
	if u.Unreported > 0 {
		tokens += fmt.Sprintf(" (%d of %d calls unreported)", u.Unreported, u.Calls)
	}
	v.note("2", "done", fmt.Sprintf("%s · cost %s · %v · session %s", tokens, u.Cost, took.Round(time.Millisecond), out.ID()))
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
