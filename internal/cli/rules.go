package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openrath-go/rath/sandbox"
	"github.com/spf13/cobra"
)

// rules are the flags for what a sandbox keeps its commands to.
type rules struct {
	policy sandbox.Policy
	given  func(flag string) bool
}

var (
	levels   = []string{sandbox.LevelStrongest, sandbox.LevelBubblewrap, sandbox.LevelLandlock, sandbox.LevelHost}
	networks = []string{string(sandbox.NetworkDeny), string(sandbox.NetworkLoopback), string(sandbox.NetworkAllow)}
)

func (r *rules) flags(cmd *cobra.Command) {
	p, flags := &r.policy, cmd.Flags()
	flags.StringVar(&p.Level, "isolation", sandbox.LevelStrongest, "what commands are kept in: bubblewrap, landlock, host (nothing), or the strongest of them that works here")
	flags.StringVar((*string)(&p.Network), "network", "", "what commands may reach: deny (nothing), loopback (only each other) or allow\n(default: deny, at level host allow)")
	flags.StringArrayVar(&p.ReadOnly, "read-only", nil, "a path that commands may read beside the workspace and the system's programs, such as ~/go; repeatable")
	flags.StringArrayVar(&p.Writable, "writable", nil, "a path that commands may change beside the workspace; repeatable")
	limitFlags(cmd, &p.Limits)
	r.given = flags.Changed
}

// named returns one of the flags that are given, if there is one.
func (r rules) named() string {
	for _, flag := range []string{"isolation", "network", "read-only", "writable", "max-memory", "max-cpu"} {
		if r.given(flag) {
			return flag
		}
	}
	return ""
}

// check refuses what there is not.
func (r rules) check() error {
	p := r.policy
	switch {
	case !slices.Contains(levels, p.Level):
		return fmt.Errorf("--isolation must be one of %s", strings.Join(levels, ", "))
	case (p.Network != "" || r.given("network")) && !slices.Contains(networks, string(p.Network)):
		return fmt.Errorf("--network must be one of %s", strings.Join(networks, ", "))
	case slices.Contains(p.ReadOnly, ""), slices.Contains(p.Writable, ""):
		return errors.New("--read-only and --writable need a path")
	case p.Limits.CPU < 0:
		return fmt.Errorf("--max-cpu %v is less than nothing", p.Limits.CPU)
	}
	return nil
}

// over returns a policy with what flags say in place of its own.
func (r rules) over(p sandbox.Policy) (sandbox.Policy, error) {
	if r.given("isolation") || p.Level == "" {
		p.Level = r.policy.Level
	}
	if r.given("network") {
		p.Network = r.policy.Network
	}
	if r.given("max-memory") {
		p.Limits.Memory = r.policy.Limits.Memory
	}
	if r.given("max-cpu") {
		p.Limits.CPU = r.policy.Limits.CPU
	}
	var err error
	if r.given("read-only") {
		p.ReadOnly, err = absolutes(r.policy.ReadOnly)
	}
	if err == nil && r.given("writable") {
		p.Writable, err = absolutes(r.policy.Writable)
	}
	return p, err
}

// elsewhere returns the policy of a sandbox that is made from an image: what isolates that
// is no choice.
func (r rules) elsewhere() (sandbox.Policy, error) {
	p, err := r.over(sandbox.Policy{})
	if err == nil && p.Level != sandbox.LevelStrongest {
		err = usage(&hinted{fmt.Errorf("--isolation %s is for folders of this machine: an image is run in a container", p.Level), "leave --isolation out, or use --sandbox local:DIR"})
	}
	p.Level = ""
	return p, err
}

// absolutes are paths that are the same wherever the next process runs.
func absolutes(names []string) (out []string, err error) {
	for _, name := range names {
		if name, err = filepath.Abs(name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, nil
}
