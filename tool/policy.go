package tool

import (
	"context"
	"fmt"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
)

// Policy judges calls before anybody is asked about them: each one, also those of tools
// that are ReadOnly. It must be safe for concurrent use. ctx has the call's session, see
// [SessionOf]; an error stops the agent.
//
// A policy is a convenience: it spares questions, and keeps a model that means well from
// what it should not do. It is not the boundary that holds against one that does not: that
// is the sandbox.
type Policy interface {
	Judge(ctx context.Context, t *Tool, call session.Call) (Judgment, error)
	// String has all of the policy, for prints and fingerprints.
	String() string
}

// Judgment is what a policy says of a call. The zero value leaves it to others.
type Judgment struct {
	Verdict Verdict
	Reason  string // for the model and for who is asked
}

// Verdict is the sense of a judgment. The stricter one is the greater.
type Verdict uint8

// The verdicts.
const (
	Undecided Verdict = iota // as if there were no policy
	Allow                    // it runs, and nobody is asked
	Ask                      // somebody must allow it
	Deny                     // it does not run
)

var verdicts = [...]string{"undecided", "allow", "ask", "deny"}

// String returns the verdict's name.
func (v Verdict) String() string {
	if int(v) < len(verdicts) {
		return verdicts[v]
	}
	return fmt.Sprintf("unknown(%d)", v)
}

// MarshalText implements [encoding.TextMarshaler].
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText refuses names it does not know.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, n := range verdicts {
		if n == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("unknown verdict %q", text)
}

// Judged returns an approver that follows a policy, and has next decide where the policy
// says Ask or is undecided. Without a next, what is to be asked about is refused, and so
// are undecided calls of tools that have Approval set.
//
// An approver in a context is not asked about tools that are ReadOnly: a policy that is to
// judge those too belongs into [Dispatch].
func Judged(p Policy, next Approver) Approver { return judged(p, next, next) }

// judged has ask decide where the policy says so, and rest where it is undecided.
func judged(p Policy, ask, rest Approver) Approver {
	return func(ctx context.Context, t *Tool, call session.Call) (Decision, error) {
		j, err := p.Judge(ctx, t, call)
		if err != nil {
			return Decision{}, err
		}
		switch j.Verdict {
		case Undecided:
			switch {
			case !t.Approval && (rest == nil || t.Class == effect.ReadOnly):
				return Decision{Allow: true}, nil
			case rest == nil:
				return Decision{Reason: nobody}, nil
			}
			return edited(ctx, p, t, call, rest)
		case Allow:
			return Decision{Allow: true}, nil
		case Ask:
			if ask == nil {
				return Decision{Reason: reason(j.Reason, nobody)}, nil
			}
			return edited(context.WithValue(ctx, judgmentKey{}, j), p, t, call, ask)
		}
		return Decision{Reason: reason("the policy does not allow it", j.Reason)}, nil
	}
}

type judgmentKey struct{}

// JudgmentOf returns why an approver is asked, in its context: the judgment of a policy that
// says Ask. The zero value: no policy wants it.
func JudgmentOf(ctx context.Context) Judgment {
	j, _ := ctx.Value(judgmentKey{}).(Judgment)
	return j
}

// edited has somebody decide. Arguments that they put in the place of the call's are
// judged again: what is denied stays denied.
func edited(ctx context.Context, p Policy, t *Tool, call session.Call, next Approver) (Decision, error) {
	d, err := next(ctx, t, call)
	if err != nil || !d.Allow || d.Arguments == "" {
		return d, err
	}
	call.Arguments = d.Arguments
	j, err := p.Judge(ctx, t, call)
	if err == nil && j.Verdict == Deny {
		d = Decision{Reason: reason("the policy does not allow it with these arguments", j.Reason)}
	}
	return d, err
}

const nobody = "it needs an approval, and nobody is there to give it"

func reason(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}

func orElse(a, b Approver) Approver {
	if a != nil {
		return a
	}
	return b
}
