package local

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/driver"
)

type capabilities = driver.Capabilities

// levels are all, the strongest first.
var levels = []string{driver.LevelBubblewrap, driver.LevelLandlock, driver.LevelHost}

var networks = []driver.Network{driver.NetworkDeny, driver.NetworkLoopback, driver.NetworkAllow}

// Status is whether a level can be enforced here.
type Status struct {
	Level string
	Err   error // a [*sandbox.PolicyError] with a hint, nil if it can
}

// Probe finds out what this machine can enforce, by trying. The levels come with the
// strongest first.
func Probe(ctx context.Context) []Status {
	all := make([]Status, len(levels))
	for i, level := range levels {
		all[i] = Status{level, probe(ctx, level)}
	}
	return all
}

// candidates are the levels that a policy can be tried at. One that asks for nothing gets
// the host: isolation changes what commands find, so a program chooses it.
func candidates(p sandbox.Policy) []string {
	switch {
	case p.Level == driver.LevelStrongest, p.Level == "" && confines(p):
		return levels
	case p.Level == "":
		return []string{driver.LevelHost}
	}
	return []string{p.Level}
}

// confines reports whether a policy asks for what the level host does not have.
func confines(p sandbox.Policy) bool {
	return len(p.ReadOnly) > 0 || len(p.Writable) > 0 || p.Network != "" && p.Network != driver.NetworkAllow
}

// enclose chooses the level and makes its cage.
func (b *box) enclose(ctx context.Context) error {
	asked := b.policy
	var refusals []*driver.PolicyError
	for _, level := range candidates(asked) {
		b.policy = asked
		b.policy.Level = level
		err := b.encloseAt(ctx)
		var refusal *driver.PolicyError
		if !errors.As(err, &refusal) {
			return err
		}
		refusals = append(refusals, refusal)
	}
	return together(refusals)
}

// together makes one refusal of those of all levels.
func together(refusals []*driver.PolicyError) error {
	if len(refusals) == 1 {
		return refusals[0]
	}
	reasons := make([]string, len(refusals))
	for i, r := range refusals {
		reasons[i] = r.Error()
	}
	return &driver.PolicyError{
		Level: driver.LevelStrongest, Reason: strings.Join(reasons, "; "), Remedy: refusals[0].Remedy,
	}
}

func (b *box) encloseAt(ctx context.Context) (err error) {
	if b.policy.Network == "" {
		b.policy.Network = driver.NetworkDeny
		if b.policy.Level == driver.LevelHost {
			b.policy.Network = driver.NetworkAllow
		}
	}
	if err := b.refuse(); err != nil {
		return err
	}
	if err := b.count(); err != nil {
		return err
	}
	b.cage = host{}
	if b.policy.Level != driver.LevelHost {
		b.cage, err = newCage(ctx, b)
	}
	if err != nil {
		b.counter.close()
	}
	return err
}

// refuse says what of a policy no level, or not the host, can enforce.
func (b *box) refuse() error {
	p := b.policy
	refusal := &driver.PolicyError{Level: p.Level}
	switch {
	case !slices.Contains(levels, p.Level):
		refusal.Reason, refusal.Remedy = "there is no such level", "choose one of "+strings.Join(levels, ", ")+" and "+driver.LevelStrongest
	case !slices.Contains(networks, p.Network):
		refusal.Missing, refusal.Reason = "the network \""+string(p.Network)+"\"", "there is no such policy"
		refusal.Remedy = "choose one of deny, loopback and allow"
	case p.Limits != (sandbox.Limits{}) && !canLimit:
		refusal.Missing, refusal.Reason, refusal.Remedy = "limits", "this system has no ulimit", "leave the limits out, or use another driver"
	case p.Level == driver.LevelHost && confines(p):
		refusal.Missing, refusal.Reason = "rules for files or networks", "its commands are ordinary processes of this user"
		refusal.Remedy = "use level " + driver.LevelBubblewrap + " or " + driver.LevelLandlock
	case slices.ContainsFunc(b.hidden, func(name string) bool { return target(name) == b.dir }):
		refusal.Missing, refusal.Reason = "that "+b.named+" is hidden", "it is the workspace itself"
		refusal.Remedy = "choose another workspace"
	default:
		return nil
	}
	return refusal
}
