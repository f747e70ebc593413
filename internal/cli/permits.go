package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openrath-go/rath/internal/flowfile"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
	"github.com/openrath-go/rath/tool/memorytool"
	"github.com/openrath-go/rath/tool/policy"
	"github.com/spf13/cobra"
)

// permits say what agents may call their tools with, in patterns of package policy.
type permits struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

func (p *permits) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&p.Allow, "allow", nil, "calls that need nobody's consent: TOOL, TOOL:PATH, TOOL:COMMAND or TOOL.ARGUMENT:TEXT,\nwith * for any text; repeatable. No boundary: that is the sandbox")
	flags.StringArrayVar(&p.Ask, "ask", nil, "calls that somebody is asked about, also with --yes; repeatable")
	flags.StringArrayVar(&p.Deny, "deny", nil, "calls that are refused, whoever else would let them; repeatable")
}

func policiesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "policies",
		Short: "What agents may call their tools with",
		Long: `The flags --allow, --ask and --deny have rules about calls of tools, and so has policy: of an
agent in a flow's file:

  TOOL               every call of it; * stands for any text in the name
  TOOL:PATTERN       calls whose path, or whose command, is like the pattern
  TOOL.ARG:PATTERN   calls with an argument that is like it

A pattern of a path is a glob in the workspace, docs/** or *.md. One of a command has * for
any text, and is compared with each simple command of the line: 'git diff *'. Others are texts
with * for any text. Paths are compared as the sandbox resolves them, and commands as a shell
would parse them; what cannot be told is never allowed by a pattern, and is denied by any that
denies commands: arithmetic, [[ ]] and other things that sh and bash read differently, names
from variables, and options of env, sudo, bash and the like that rath does not know.

A path is the one that the call names, not what lies below it. --deny '*:secret/**' refuses to
read secret/k, but a search of the workspace finds its lines. Deny search_workspace and
find_workspace_files too, or their path '.' and what else the folder is in.

  denied    the call is refused, whatever else is said, --yes too
  asked     somebody is asked, with --yes too: on a terminal, or with --ask-later and rath
            runs decide; where nobody can be asked it is refused
  allowed   nobody is asked, and --yes is not needed
  no rule   as without rules: what reads runs, the rest needs consent or --yes; in a flow's
            file, else: says otherwise

The strictest rule that is about a call counts, wherever it stands: deny, then ask, then
allow. The rules of flags hold for all agents, beside those of a file. They are kept with the
run, so that rath resume has them again; rath rerun can add to them.

Rules spare questions and keep a model that means well from what it should not do. They are
no boundary against one that does not: a script, an interpreter or a Makefile does what it
likes. What must not be possible is what the sandbox does not let happen: rath help sandboxes.`,
	}
}

// policy has the rules; nil: there are none. Of rules that hold for a call the strictest
// counts. What no rule is about is as otherwise says, empty: as if there were none.
func (p permits) policy(otherwise string) (tool.Policy, error) {
	out := &policy.Policy{}
	if otherwise != "" {
		if err := out.Else.UnmarshalText([]byte(otherwise)); err != nil {
			return nil, err
		}
	}
	var err error
	if out.Rules, err = p.rules(); err != nil || len(out.Rules) == 0 && out.Else == tool.Undecided {
		return nil, err
	}
	return out, nil
}

func (p permits) rules() (all []policy.Rule, err error) {
	for _, group := range []struct {
		verdict tool.Verdict
		texts   []string
	}{{tool.Allow, p.Allow}, {tool.Ask, p.Ask}, {tool.Deny, p.Deny}} {
		for _, text := range group.texts {
			rules, err := policy.Parse(group.verdict, text)
			if err != nil {
				return nil, usage(&hinted{fmt.Errorf("--%s %w", group.verdict, err), "such as write_workspace_file, 'write_workspace_file:docs/**' or 'run_shell_command:git diff *'"})
			}
			all = append(all, rules...)
		}
	}
	return all, nil
}

// pointless refuses a rule that is about no call of the tools, for which it would be taken to
// hold.
func pointless(text string, tools tool.Set) error {
	rules, err := policy.Parse(tool.Allow, text)
	if err != nil {
		return err
	}
	for _, r := range rules {
		if slices.ContainsFunc(tools, r.Concerns) {
			return nil
		}
	}
	name := policy.Rule{Tool: rules[0].Tool}
	var names []string
	for _, t := range tools {
		if name.Concerns(t) {
			return &hinted{fmt.Errorf("%q is about an argument that %s does not have", text, t.Name), "TOOL.ARGUMENT:TEXT names the argument"}
		}
		names = append(names, t.Name)
	}
	return &hinted{fmt.Errorf("%q is about no tool that there is", text), "the tools are " + strings.Join(names, ", ")}
}

// check refuses rules about nothing, where the names of all tools are known.
func (p permits) check(known bool) error {
	if _, err := p.rules(); err != nil || !known {
		return err
	}
	for _, text := range slices.Concat(p.Allow, p.Ask, p.Deny) {
		if err := pointless(text, ownTools()); err != nil {
			return usage(err)
		}
	}
	return nil
}

// ownTools are the tools that need no server.
func ownTools() tool.Set {
	m := memory.Unopened("")
	defer m.Close()
	return slices.Concat(builtin.All(), memorytool.New(m, nil))
}

// orNil is what a spec keeps of the rules.
func (p permits) orNil() *permits {
	if len(p.Allow)+len(p.Ask)+len(p.Deny) == 0 {
		return nil
	}
	return &p
}

// with has the rules of others besides, which may be nil.
func (p permits) with(other *permits) permits {
	if other == nil {
		return p
	}
	return permits{slices.Concat(p.Allow, other.Allow), slices.Concat(p.Ask, other.Ask), slices.Concat(p.Deny, other.Deny)}
}

// unasked are the calls that a flow's file lets its agents make without asking, a line for an
// agent.
func (f *flowSpec) unasked() (lines []string) {
	parsed, err := flowfile.Parse(f.File, []byte(f.Content))
	if err != nil {
		return nil // whoever builds it will tell
	}
	all := parsed.Policies()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		allowed := all[name].Allow
		if all[name].Else == tool.Allow.String() {
			allowed = append(slices.Clone(allowed), "what it says nothing of")
		}
		if len(allowed) > 0 {
			lines = append(lines, name+" needs no consent for "+strings.Join(allowed, ", "))
		}
	}
	return lines
}

// announcePolicy tells what a flow's file lets its agents do without asking.
func (d *drive) announcePolicy() {
	if d.spec.Flow == nil || d.a.asJSON {
		return
	}
	for _, line := range d.spec.Flow.unasked() {
		d.view.note("2", "policy", line)
	}
}

// examinePolicy looks at the rules that a record has. Where the working directory has brought
// the record, anybody may have written it, and consent is the user's to give.
func (a *app) examinePolicy(s spec) error {
	brought, err := a.homeIsBrought()
	if err != nil || !brought {
		return err
	}
	if s.Policy != nil && len(s.Policy.Allow) > 0 || s.Flow != nil && len(s.Flow.unasked()) > 0 {
		err := errors.New("the run lets tools change things without asking: the record in the working directory says so, and nothing else")
		return &hinted{err, "keep the records in a home of yours: OPENRATH_HOME"}
	}
	return nil
}
