package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/run"
)

// asker asks the user on the terminal, one question at a time.
type asker struct {
	in  io.Reader
	out io.Writer

	mu      sync.Mutex
	lines   chan string // what the user types; nil until the first question
	allowed map[string]bool
}

// decide is a [flow.Decider].
func (q *asker) decide(ctx context.Context, asked flow.Question) (flow.Decision, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case asked.Kind == flow.KindApproval && asked.Call != nil:
		d, err := q.approve(ctx, asked.Call)
		if errors.Is(err, io.EOF) {
			return unanswered, nil
		}
		return d, err
	case asked.Kind == flow.KindInput, asked.Kind == flow.KindReview:
		d, err := q.respond(ctx, textOf(asked.Request)+"\nyour answer, or nothing to answer later: ")
		if errors.Is(err, io.EOF) {
			err = run.ErrLater
		}
		return d, err
	}
	return flow.Decision{}, run.ErrLater
}

// approve asks about a call until it gets one of the answers. Only a plain yes allows it.
func (q *asker) approve(ctx context.Context, call *flow.CallRequest) (flow.Decision, error) {
	if q.allowed[call.Tool] {
		return flow.Decision{Verdict: flow.Approve}, nil
	}
	question := fmt.Sprintf("allow %s %s? ", call.Tool, plainly(call.Arguments))
	for {
		answer, err := q.prompt(ctx, question+"[y]es, [n]o REASON, [a]lways this tool, [e]dit, [r]espond: ")
		if err != nil {
			return flow.Decision{}, err
		}
		if d, understood, err := q.decision(ctx, call, answer); understood {
			return d, err
		}
		question = "that is none of the answers, and nothing is decided: "
	}
}

// decision reads an answer, and asks for the rest of those that need more.
func (q *asker) decision(ctx context.Context, call *flow.CallRequest, answer string) (d flow.Decision, understood bool, err error) {
	switch strings.ToLower(answer) {
	case "y", "yes":
		return flow.Decision{Verdict: flow.Approve}, true, nil
	case "a", "always":
		if q.allowed == nil {
			q.allowed = map[string]bool{}
		}
		q.allowed[call.Tool] = true
		return flow.Decision{Verdict: flow.Approve}, true, nil
	case "e", "edit":
		d, err = q.edit(ctx)
		return d, true, err
	case "r", "respond":
		d, err = q.respond(ctx, "what the model gets instead of a result, or nothing to refuse: ")
		if errors.Is(err, run.ErrLater) {
			d, err = refused, nil
		}
		return d, true, err
	}
	d, understood = refusal(answer)
	return d, understood, nil
}

// What stands in the record is what the user said, or that there was nobody to say it.
var (
	refused    = flow.Decision{Verdict: flow.Reject, Text: "the user said no"}
	unanswered = flow.Decision{Verdict: flow.Reject, Text: "nobody answered: the terminal was closed"}
)

// refusal is a no, with the reason that may stand behind it.
func refusal(answer string) (d flow.Decision, understood bool) {
	word, reason, _ := strings.Cut(answer, " ")
	switch strings.ToLower(strings.TrimRight(word, ",:;.")) {
	case "n", "no":
		if reason = strings.TrimSpace(reason); reason != "" {
			return flow.Decision{Verdict: flow.Reject, Text: reason}, true
		}
		return refused, true
	}
	return flow.Decision{}, false
}

// respond asks for a text.
func (q *asker) respond(ctx context.Context, question string) (flow.Decision, error) {
	answer, err := q.prompt(ctx, question)
	if err == nil && answer == "" {
		err = run.ErrLater
	}
	if err != nil {
		return flow.Decision{}, err
	}
	return flow.Decision{Verdict: flow.Respond, Text: answer}, nil
}

// edit asks for other arguments until it gets JSON, or nothing, which is a no.
func (q *asker) edit(ctx context.Context) (flow.Decision, error) {
	for {
		answer, err := q.prompt(ctx, "the arguments as JSON, or nothing to refuse: ")
		if err != nil || answer == "" {
			return refused, err
		}
		d := flow.Decision{Verdict: flow.Edit, Arguments: answer}
		if d.Check() == nil {
			return d, nil
		}
	}
}

// prompt asks for a line. The error is io.EOF when the terminal is gone.
func (q *asker) prompt(ctx context.Context, question string) (string, error) {
	if _, err := io.WriteString(q.out, printable(question)); err != nil {
		return "", fmt.Errorf("ask on the terminal: %w", err)
	}
	answer, err := q.line(ctx)
	return strings.TrimSpace(answer), err
}

// plainly shows all of a call's arguments, which is what the answer is about: no space
// between them that could push a part out of sight, no letter written as an escape.
func plainly(arguments string) string {
	v := jsontext.Value(arguments)
	if err := v.Format(jsontext.PreserveRawStrings(false), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return arguments // as it is: the tool will refuse it
	}
	return string(v)
}

// line waits for the user or for the run's end. The reader goes on until the program
// ends: a terminal cannot be asked to give up.
func (q *asker) line(ctx context.Context) (string, error) {
	if q.lines == nil {
		q.lines = make(chan string)
		go func() {
			defer close(q.lines)
			for in := bufio.NewScanner(q.in); in.Scan(); {
				q.lines <- in.Text()
			}
		}()
	}
	select {
	case text, ok := <-q.lines:
		if !ok {
			_, _ = io.WriteString(q.out, "\n")
			return "", io.EOF
		}
		return text, nil
	case <-ctx.Done():
		_, _ = io.WriteString(q.out, "\n")
		return "", ctx.Err()
	}
}

// terminalFor is where questions go: stderr through the view if that is a terminal, else
// the terminal itself; nil if there is none.
func (a *app) terminalFor(v *view) io.Writer {
	if a.terminal.err {
		return questions{v}
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return nil
	}
	return tty // until the program ends
}

// questions writes to stderr without tearing the answer on stdout apart.
type questions struct{ v *view }

func (q questions) Write(p []byte) (int, error) {
	q.v.question(string(p))
	return len(p), nil
}
