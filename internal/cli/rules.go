package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// rule is one of the flags, and what of a policy it sets.
type rule struct {
	flag string
	add  func(flags *pflag.FlagSet, flag string, p *sandbox.Policy)
	set  func(to *sandbox.Policy, from sandbox.Policy)
}

// ruleFlags are all of them.
var ruleFlags = []rule{
	{"isolation", func(f *pflag.FlagSet, flag string, p *sandbox.Policy) {
		f.StringVar(&p.Level, flag, sandbox.LevelStrongest, "what commands are kept in: bubblewrap, landlock, host (nothing), or the strongest of them that works here")
	}, func(to *sandbox.Policy, from sandbox.Policy) { to.Level = from.Level }},
	{"network", func(f *pflag.FlagSet, flag string, p *sandbox.Policy) {
		f.StringVar((*string)(&p.Network), flag, "", "what commands may reach: deny (nothing), loopback (only each other) or allow\n(default: deny, at level host allow)")
	}, func(to *sandbox.Policy, from sandbox.Policy) { to.Network = from.Network }},
	{"read-only", func(f *pflag.FlagSet, flag string, p *sandbox.Policy) {
		f.StringArrayVar(&p.ReadOnly, flag, nil, "a path that commands may read beside the workspace and the system's programs, such as ~/go; repeatable")
	}, func(to *sandbox.Policy, from sandbox.Policy) { to.ReadOnly = from.ReadOnly }},
	{"writable", func(f *pflag.FlagSet, flag string, p *sandbox.Policy) {
		f.StringArrayVar(&p.Writable, flag, nil, "a path that commands may change beside the workspace; repeatable")
	}, func(to *sandbox.Policy, from sandbox.Policy) { to.Writable = from.Writable }},
	{"max-memory", func(f *pflag.FlagSet, flag string, p *sandbox.Policy) {
		f.Var((*size)(&p.Limits.Memory), flag, "address space of each process of a command, such as 512M or 2G (default: no limit)")
	}, func(to *sandbox.Policy, from sandbox.Policy) { to.Limits.Memory = from.Limits.Memory }},
	{"max-cpu", func(f *pflag.FlagSet, flag string, p *sandbox.Policy) {
		f.DurationVar(&p.Limits.CPU, flag, 0, "CPU time of each process of a command (0: no limit)")
	}, func(to *sandbox.Policy, from sandbox.Policy) { to.Limits.CPU = from.Limits.CPU }},
	{"max-processes", func(f *pflag.FlagSet, flag string, p *sandbox.Policy) {
		f.IntVar(&p.Limits.Processes, flag, 0, "processes of all commands together (0: no limit)")
	}, func(to *sandbox.Policy, from sandbox.Policy) { to.Limits.Processes = from.Limits.Processes }},
	{"max-file-size", func(f *pflag.FlagSet, flag string, p *sandbox.Policy) {
		f.Var((*size)(&p.Limits.FileSize), flag, "what a file may grow to that a command writes, such as 100M (default: no limit)")
	}, func(to *sandbox.Policy, from sandbox.Policy) { to.Limits.FileSize = from.Limits.FileSize }},
}

func (r *rules) flags(cmd *cobra.Command) {
	for _, rule := range ruleFlags {
		rule.add(cmd.Flags(), rule.flag, &r.policy)
	}
	r.given = cmd.Flags().Changed
}

// named returns one of the flags that are given, if there is one.
func (r rules) named() string {
	for _, rule := range ruleFlags {
		if r.given(rule.flag) {
			return rule.flag
		}
	}
	return ""
}

// leastMemory is what a shell and a small program start in.
const leastMemory = 16 << 20

// check refuses what there is not.
func (r rules) check() error {
	p, l := r.policy, r.policy.Limits
	switch {
	case !slices.Contains(levels, p.Level):
		return fmt.Errorf("--isolation must be one of %s", strings.Join(levels, ", "))
	case (p.Network != "" || r.given("network")) && !slices.Contains(networks, string(p.Network)):
		return fmt.Errorf("--network must be one of %s", strings.Join(networks, ", "))
	case slices.Contains(p.ReadOnly, ""), slices.Contains(p.Writable, ""):
		return errors.New("--read-only and --writable need a path")
	case l.CPU != 0 && l.CPU < time.Second:
		return usage(&hinted{fmt.Errorf("--max-cpu %v is too little: it is counted in whole seconds", l.CPU), "--max-cpu 1s is the least, 0 is no limit"})
	case l.Memory != 0 && l.Memory < leastMemory:
		return usage(&hinted{fmt.Errorf("--max-memory %v is too little: no command starts in that", (*size)(&l.Memory)), "--max-memory 16M is the least, 0 is no limit; without K, M, G or T it is a number of bytes"})
	case l.Processes < 0:
		return fmt.Errorf("--max-processes %d is less than nothing", l.Processes)
	}
	return nil
}

// over returns a policy with what flags say in place of its own.
func (r rules) over(p sandbox.Policy) (_ sandbox.Policy, err error) {
	flags := r.policy
	if flags.ReadOnly, err = absolutes(flags.ReadOnly); err != nil {
		return p, err
	}
	if flags.Writable, err = absolutes(flags.Writable); err != nil {
		return p, err
	}
	for _, rule := range ruleFlags {
		if r.given(rule.flag) {
			rule.set(&p, flags)
		}
	}
	if p.Level == "" {
		p.Level = flags.Level
	}
	return p, nil
}

// elsewhere does it for a sandbox that is made from an image: what isolates that is no
// choice.
func (r rules) elsewhere(p sandbox.Policy) (sandbox.Policy, error) {
	if level := r.policy.Level; r.given("isolation") && level != sandbox.LevelStrongest {
		return p, usage(&hinted{fmt.Errorf("--isolation %s is for folders of this machine: an image is run in a container", level), "leave --isolation out, or use --sandbox local:DIR"})
	}
	level := p.Level
	p, err := r.over(p)
	p.Level = level
	return p, err
}

// at does it for the sandbox of a URL.
func (r rules) at(url string, p sandbox.Policy) (sandbox.Policy, error) {
	scheme, _, _ := strings.Cut(url, ":")
	given := r.named()
	_, isRemote := remotes[scheme]
	switch {
	case scheme == "local":
		return r.over(p)
	case isRemote:
		return r.elsewhere(p)
	case given != "" && scheme == "none":
		return p, usage(&hinted{fmt.Errorf("--%s: there are no commands in --sandbox none that could be kept to it", given), "leave one of the two out"})
	case given != "":
		return p, keepsRules(given, url)
	}
	return p, nil
}

// keepsRules says that a sandbox which stays has the rules that it has.
func keepsRules(flag, name string) error {
	err := fmt.Errorf("--%s: sandbox %s keeps the rules that it was made with", flag, strings.TrimPrefix(name, "@"))
	return usage(&hinted{err, "rath sandboxes create makes another one, with the same flags"})
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
