package sandboxtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openrath-go/rath/sandbox"
)

// policyRule is a promise about what a policy asks for.
type policyRule struct {
	name    string
	because string
	check   func(asking)
}

// asking is a check that opens sandboxes with policies.
type asking struct {
	check
	suite Suite
}

// ask opens a sandbox that enforces a policy. A refusal is as good, if it tells what
// anybody can act on: then there is none.
func (a asking) ask(p sandbox.Policy) (opened check, ok bool) {
	a.Helper()
	s, err := a.suite.Open(a.T, p)
	if err != nil {
		a.refused(err)
		return check{}, false
	}
	a.Cleanup(func() { s.Close() })
	opened = a.check
	opened.s = s
	return opened, true
}

func (a asking) refused(err error) {
	a.Helper()
	var refusal *sandbox.PolicyError
	if !errors.As(err, &refusal) || !errors.Is(err, sandbox.ErrUnsupported) {
		a.broken("the refusal %v is no *sandbox.PolicyError", err)
		return
	}
	if refusal.Reason == "" || refusal.Remedy == "" || refusal.Hint() != refusal.Remedy {
		a.broken("the refusal %#v does not say why, or what would help", refusal)
	}
	a.Logf("refused: %v (hint: %s)", refusal, refusal.Remedy)
}

// mustRefuse asks for what there is not.
func (a asking) mustRefuse(p sandbox.Policy) {
	a.Helper()
	s, err := a.suite.Open(a.T, p)
	if err == nil {
		s.Close()
		a.broken("%+v was opened", p)
		return
	}
	a.refused(err)
}

var policyRules = []policyRule{
	{"refuses levels that there are not", "a word that is misspelt must not open a door", func(a asking) {
		a.mustRefuse(sandbox.Policy{Level: "no-such-level"})
	}},
	{"refuses networks that there are not", "a word that is misspelt must not open a door", func(a asking) {
		a.mustRefuse(sandbox.Policy{Network: "no-such-network"})
	}},
	{"tells what it enforces", "records must say under which rules something ran", func(a asking) {
		for _, network := range []sandbox.Network{sandbox.NetworkDeny, sandbox.NetworkLoopback, sandbox.NetworkAllow} {
			if c, ok := a.ask(sandbox.Policy{Network: network}); ok {
				caps := c.s.Capabilities()
				if got := c.s.Policy().Network; got != network || caps.NetDeny != (network != sandbox.NetworkAllow) || caps.NetLoopback && network != sandbox.NetworkLoopback {
					c.broken("asked for the network %q it says %q and claims %+v", network, got, caps)
				}
			}
		}
		limits := sandbox.Limits{FileSize: 1 << 20}
		if c, ok := a.ask(sandbox.Policy{Limits: limits}); ok && c.s.Policy().Limits != limits {
			c.broken("asked for the limits %+v it says %+v", limits, c.s.Policy().Limits)
		}
	}},
	{"enforces a denied network", "what a model has read must not leave", func(a asking) {
		a.again(sandbox.Policy{Network: sandbox.NetworkDeny}, "keeps commands from the network")
	}},
	{"enforces a loopback network", "tests start servers, and reach no others", func(a asking) {
		p := sandbox.Policy{Network: sandbox.NetworkLoopback}
		a.again(p, "keeps commands from the network")
		a.again(p, "lets programs of one command talk")
	}},
	{"lets commands read what the policy names, and no more", "a compiler's folder is not the model's", func(a asking) {
		dir := a.TempDir()
		a.must(os.WriteFile(filepath.Join(dir, "file"), []byte("to be read"), 0o644), "make a file")
		c, ok := a.ask(sandbox.Policy{ReadOnly: []string{dir}})
		if !ok {
			return
		}
		if r := c.shell("cat $D/file", "D="+dir); r.Stdout != "to be read" {
			c.broken("a command reads %+v", r)
		}
		c.shell("echo x >$D/file; echo x >$D/new; rm -f $D/file; mv $D/file .", "D="+dir)
		data, err := os.ReadFile(filepath.Join(dir, "file"))
		if entries, _ := os.ReadDir(dir); string(data) != "to be read" || len(entries) != 1 {
			c.broken("a command leaves %v behind, with %q, %v", entries, data, err)
		}
	}},
	{"lets commands write where the policy says", "a cache is shared", func(a asking) {
		dir := a.TempDir()
		c, ok := a.ask(sandbox.Policy{Writable: []string{dir}})
		if !ok {
			return
		}
		r := c.shell("echo written >$D/file", "D="+dir)
		if data, err := os.ReadFile(filepath.Join(dir, "file")); string(data) != "written\n" {
			c.broken("the file holds %q, %v (%+v)", data, err, r)
		}
	}},
	{"limits files", "a log must not fill the disk", func(a asking) {
		if c, ok := a.ask(sandbox.Policy{Limits: sandbox.Limits{FileSize: 1 << 20}}); ok {
			if r := c.shell("head -c 3000000 /dev/zero >big; wc -c <big"); strings.TrimSpace(r.Stdout) != "1048576" {
				c.broken("a file that may have 1048576 bytes has %+v", r)
			}
		}
	}},
	{"limits memory", "a model's program must not take the machine down", func(a asking) {
		const line = `x=$(head -c 200000000 /dev/zero | tr '\0' x); echo ${#x}`
		if c, ok := a.ask(sandbox.Policy{Limits: sandbox.Limits{Memory: 100 << 20}}); ok {
			if r := c.shell(line); strings.Contains(r.Stdout, "200000000") {
				c.broken("a command has twice the memory that it may: %+v", r)
			}
			if r := c.shell("echo on"); r.Stdout != "on\n" {
				c.broken("the next one is %+v", r)
			}
		}
	}},
	{"limits computing", "a loop without an end must end", func(a asking) {
		if c, ok := a.ask(sandbox.Policy{Limits: sandbox.Limits{CPU: time.Second}}); ok {
			if r := c.shell("while :; do :; done"); r.TimedOut || r.ExitCode == 0 {
				c.broken("a command that may compute for a second is %+v", r)
			}
		}
	}},
	{"limits processes", "a fork bomb must not take the machine down", func(a asking) {
		const line = "i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done; echo all; kill $(jobs -p)"
		if c, ok := a.ask(sandbox.Policy{Limits: sandbox.Limits{Processes: 100}}); ok {
			r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: line, Timeout: 5 * time.Second}) // some shells try again and again
			if err != nil || strings.Contains(r.Stdout, "all") {
				c.broken("a command has 200 processes and may have 100: %+v, %v", r, err)
			}
		}
	}},
	{"limits open files", "a leak must not take the machine down", func(a asking) {
		if c, ok := a.ask(sandbox.Policy{Limits: sandbox.Limits{OpenFiles: 20}}); ok {
			if r := c.shell("tee $(seq 1 40) </dev/null && echo all"); strings.Contains(r.Stdout, "all") {
				c.broken("a command has 40 files open and may have 20: %+v", r)
			}
		}
	}},
	{"inherits what the policy names", "a build needs its settings, and no more", func(a asking) {
		a.Setenv("RATH_SUITE_NAMED", "named")
		a.Setenv("RATH_SUITE_OTHER", "other")
		if c, ok := a.ask(sandbox.Policy{Env: []string{"RATH_SUITE_NAMED", "RATH_SUITE_UNSET"}}); ok {
			r := c.shell(`echo "$RATH_SUITE_NAMED,$RATH_SUITE_OTHER,${RATH_SUITE_UNSET-unset}"`)
			if r.Stdout != "named,,unset\n" {
				c.broken("a command inherits %q", r.Stdout)
			}
		}
	}},
}

// again runs a rule of those about denials under a policy.
func (a asking) again(p sandbox.Policy, name string) {
	a.Helper()
	c, ok := a.ask(p)
	if !ok {
		return
	}
	for _, rule := range denyRules {
		if rule.name != name {
			continue
		}
		for need := range strings.FieldsSeq(rule.needs) {
			if !claims(c.s.Capabilities(), need) {
				c.broken("under %+v the driver does not claim %s", p, need)
			}
		}
		rule.check(c)
	}
}
