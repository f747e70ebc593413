// Package sandboxtest checks that a sandbox driver keeps the rules which tools and
// agents rely on. A driver's own tests call [Run], or [Suite.Run] if its sandboxes can be
// opened with a policy.
//
// Next: [github.com/openrath-go/rath/memory/driver].
package sandboxtest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openrath-go/rath/sandbox"
)

// Run runs the rules that hold under any policy. open returns a new sandbox with an empty
// workspace; the suite closes it. Rules about what the driver does not claim in its
// Capabilities are skipped.
func Run(t *testing.T, open func(t *testing.T) *sandbox.Sandbox) {
	for _, rule := range rules() {
		t.Run(rule.name, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			for need := range strings.FieldsSeq(rule.needs) {
				if !claims(s.Capabilities(), need) {
					t.Skip("the driver does not claim " + need)
				}
			}
			rule.check(check{t, s, open, t.Context(), rule.because})
		})
	}
}

func rules() []rule {
	return slices.Concat(
		aboutRules, fileRules, commandRules, outputRules, cancelRules, parallelRules, lifeRules, streamRules, forkRules, denyRules,
	)
}

// claims reports whether a capability is claimed, by its name.
func claims(caps sandbox.Capabilities, name string) bool {
	return !reflect.ValueOf(caps).FieldByName(name).IsZero()
}

// Suite is a driver whose sandboxes can be opened with a policy.
type Suite struct {
	// Open opens a new sandbox with an empty workspace that enforces a policy, or returns
	// what the driver refuses it with. Where the policy leaves something open, it may choose:
	// the level under test, say. The suite closes the sandbox.
	Open func(t *testing.T, p sandbox.Policy) (*sandbox.Sandbox, error)
}

// Run runs all rules: those of the function Run with the zero policy, and that whatever
// a policy asks for is enforced or refused.
func (s Suite) Run(t *testing.T) {
	open := func(t *testing.T) *sandbox.Sandbox {
		t.Helper()
		sb, err := s.Open(t, sandbox.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		return sb
	}
	Run(t, open)
	for _, rule := range policyRules {
		t.Run(rule.name, func(t *testing.T) {
			rule.check(asking{check{t, nil, open, t.Context(), rule.because}, s})
		})
	}
}

// rule is one promise of a sandbox, and why it matters.
type rule struct {
	name    string
	because string
	needs   string // the capabilities that it is about, by their names in [sandbox.Capabilities]
	check   func(check)
}

// check is a rule at work on one sandbox.
type check struct {
	*testing.T
	s       *sandbox.Sandbox
	open    func(*testing.T) *sandbox.Sandbox // another one
	ctx     context.Context
	because string
}

func (c check) broken(format string, args ...any) {
	c.Helper()
	c.Errorf(format+"\n\tthe rule: "+c.because, args...)
}

func (c check) must(err error, doing string) {
	c.Helper()
	if err != nil {
		c.Fatalf("%s: %v\n\tthe rule: %s", doing, err, c.because)
	}
}

func (c check) is(err, want error, doing string) {
	c.Helper()
	if !errors.Is(err, want) {
		c.broken("%s: got error %v, want one that is %q", doing, err, want)
	}
}

func (c check) write(name, text string) {
	c.Helper()
	c.must(c.s.WriteFile(c.ctx, name, []byte(text)), "write "+name)
}

// holds checks what a file has in it.
func (c check) holds(s *sandbox.Sandbox, name, want string) {
	c.Helper()
	got, err := s.ReadFile(c.ctx, name)
	if err != nil || string(got) != want {
		c.broken("%s holds %.100q, %v, want %.100q", name, got, err, want)
	}
}

// shell runs a line, with more variables.
func (c check) shell(line string, env ...string) sandbox.Result {
	c.Helper()
	r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: line, Env: env, Timeout: 2 * time.Minute})
	c.must(err, "run "+line)
	return r
}

// comes waits for something that is to come about.
func (c check) comes(done func() bool, what string) {
	c.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.Fatalf("it did not come about in a minute that %s\n\tthe rule: %s", what, c.because)
		}
	}
}

var aboutRules = []rule{
	{"describes itself", "records must say where something ran", "", func(c check) {
		p := c.s.Placement()
		if p.Backend == "" || p.ID == "" || c.s.ID() != p.ID || !strings.HasPrefix(c.s.String(), p.Backend+":") {
			c.broken("placement %+v of %s is incomplete", p, c.s)
		}
		if p.Level != c.s.Policy().Level {
			c.broken("the placement says level %q, the policy %q", p.Level, c.s.Policy().Level)
		}
		if caps := c.s.Capabilities(); p.Forkable != caps.Fork || caps.Fork && !caps.Snapshot {
			c.broken("the placement says forkable: %v, the capabilities %+v", p.Forkable, caps)
		}
	}},
}
