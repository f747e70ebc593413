package flowfile

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
)

// Loop runs a workflow again and again, each time on what it has made, until the last reply
// is as Until says, at most MaxRounds times. Without Until it is run that often. The rounds
// follow from the session alone, so that a replay goes round as often.
type Loop struct {
	Body      flow.Workflow
	MaxRounds int
	Until     *Until // nil: nothing ends it early
	GoOn      bool   // what was not reached in MaxRounds is no error
}

// Until says what the last reply must be like: exactly one of the two is set.
type Until struct {
	Contains string `json:"contains,omitempty"`
	Matches  string `json:"matches,omitempty"` // a regular expression
}

// Forward goes round. The error is the workflow's own or wraps [flow.ErrMaxRounds]; the
// session with it is as far as the loop got.
func (l *Loop) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	over, err := l.Until.compile()
	if err != nil {
		return s, err
	}
	for round := range l.MaxRounds {
		if s, err = flow.Forward(ctx, strconv.Itoa(round), l.Body, s); err != nil {
			return s, err
		}
		if over(lastReply(s)) {
			return s, nil
		}
	}
	if l.Until == nil || l.GoOn {
		return s, nil
	}
	return s, fmt.Errorf("%w in %d rounds: the last reply never %v", flow.ErrMaxRounds, l.MaxRounds, l.Until)
}

// Check reports what would keep the loop from working.
func (l *Loop) Check() error {
	_, err := l.Until.compile()
	if err == nil && l.MaxRounds < 1 {
		err = fmt.Errorf("MaxRounds is %d", l.MaxRounds)
	}
	return err
}

// Fingerprint has what the tree of workflows does not show.
func (l *Loop) Fingerprint() string {
	until, _ := json.Marshal(l.Until) // texts: they always encode
	return fmt.Sprintf("%d %s %v", l.MaxRounds, until, l.GoOn)
}

// String describes the loop without what it runs.
func (l *Loop) String() string {
	if l.Until == nil {
		return fmt.Sprintf("Loop(%d rounds)", l.MaxRounds)
	}
	return fmt.Sprintf("Loop(at most %d rounds, until the last reply %v)", l.MaxRounds, l.Until)
}

func (u *Until) String() string {
	if u.Contains != "" {
		return fmt.Sprintf("contains %q", u.Contains)
	}
	return fmt.Sprintf("matches %q", u.Matches)
}

// compile returns what tells whether a reply is as it must be.
func (u *Until) compile() (func(string) bool, error) {
	switch {
	case u == nil:
		return func(string) bool { return false }, nil
	case u.Contains != "":
		return func(reply string) bool { return strings.Contains(reply, u.Contains) }, nil
	}
	re, err := regexp.Compile(u.Matches)
	if err != nil {
		return nil, fmt.Errorf("until: %w", err)
	}
	return re.MatchString, nil
}

// lastReply is what the model has said last.
func lastReply(s session.Session) string {
	t := s.Transcript()
	for i := t.Len() - 1; i >= 0; i-- {
		if c := t.At(i); c.Kind() == session.KindAssistant {
			return c.Text()
		}
	}
	return ""
}
