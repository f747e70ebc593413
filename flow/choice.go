package flow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// ErrNoMatch is returned when something is left to do and no choice is for it.
var ErrNoMatch = errors.New("no choice fits")

// The answers that are no workflow.
const (
	choiceDone = "done"
	choiceNone = "none"
)

// Choice is what a [Selector] chose.
type Choice struct {
	Workflow Workflow        // Done when nothing is left to do, nil with an error
	Name     string          // the workflow's as NameOf has it, "done", or "none" with ErrNoMatch
	Reason   string          // in the model's words; may be empty
	Session  session.Session // the same transcript, with what choosing cost: go on from here
}

// InvalidChoiceError says that a model gave no answer that could be understood, when it
// was asked a second time.
type InvalidChoiceError struct {
	Names []string // what it could choose from
	Said  string   // the beginning and the end of what it said instead
	Err   error    // what is wrong with it
}

func (e *InvalidChoiceError) Error() string {
	text := "the model made no valid choice: " + e.Err.Error()
	if e.Said != "" {
		text += fmt.Sprintf("; it said %q", e.Said)
	}
	return text
}

func (e *InvalidChoiceError) Unwrap() error { return e.Err }

// Hint says what can be done about it.
func (e *InvalidChoiceError) Hint() string {
	return "use a model that answers by schema, or describe the choices better"
}

// offer is what can be chosen.
type offer struct {
	choices []Workflow
	names   []string // of the choices, then done and none
}

// newOffer refuses choices that a name could not tell apart.
func newOffer(choices []Workflow) (offer, error) {
	o := offer{choices: choices}
	if len(choices) == 0 {
		return o, errors.New("there are no choices")
	}
	for i, w := range choices {
		if orNil(w) == nil {
			return o, fmt.Errorf("choice %d: %w", i, missing("workflow"))
		}
		name := NameOf(w)
		if err := checkChoice(name, o.names); err != nil {
			return o, fmt.Errorf("choice %d: %w", i, err)
		}
		o.names = append(o.names, name)
	}
	o.names = append(o.names, choiceDone, choiceNone)
	return o, nil
}

func checkChoice(name string, others []string) error {
	switch {
	case name == "":
		return errors.New("it has no name: a Label gives it one")
	case name == choiceDone || name == choiceNone:
		return fmt.Errorf("the name %q is taken: it says that no workflow is chosen", name)
	case slices.Contains(others, name):
		return fmt.Errorf("there are two with the name %q: a Label gives one another", name)
	case name != strings.TrimSpace(name) || !utf8.ValidString(name):
		return fmt.Errorf("a model cannot write the name %q exactly: a Label gives it another", name)
	}
	return nil
}

// workflow is what a name stands for.
func (o offer) workflow(name string) (Workflow, error) {
	switch name {
	case choiceDone:
		return Done, nil
	case choiceNone:
		return nil, ErrNoMatch
	}
	return o.choices[slices.Index(o.names, name)], nil
}

// picked is a reply that was understood.
type picked struct {
	Name   *string `json:"choice"`
	Reason string  `json:"reason"`
}

// read takes a name, or an object with one, and nothing else: what only contains a name
// may speak of it, or quote somebody.
func (o offer) read(reply llm.Reply) (p picked, err error) {
	text := strings.TrimSpace(reply.Chunk.Text())
	switch {
	case reply.Chunk.NumCalls() > 0:
		return p, errors.New("the reply calls tools, and there are none")
	case text == "":
		return p, errors.New("the reply is empty")
	case slices.Contains(o.names, text):
		return picked{Name: &text}, nil
	}
	if json.Unmarshal([]byte(unfenced(text)), &p) != nil {
		return p, errors.New(`the reply is not a JSON object {"reason": "...", "choice": "..."} and nothing else`)
	}
	if p.Name == nil {
		return p, errors.New(`the object has no "choice"`)
	}
	if !slices.Contains(o.names, *p.Name) {
		return p, fmt.Errorf("the choice is %q, and must be exactly one of %q", clip(*p.Name, saidTokens), o.names)
	}
	return p, nil
}

// unfenced is what is in a fence of Markdown, where that is all there is.
func unfenced(text string) string {
	inside, begins := strings.CutPrefix(text, "```")
	inside, ends := strings.CutSuffix(inside, "```")
	_, inside, lines := strings.Cut(inside, "\n")
	if !begins || !ends || !lines {
		return text
	}
	return inside
}
