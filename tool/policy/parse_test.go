package policy_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
	"github.com/openrath-go/rath/tool/policy"
)

func TestParse(t *testing.T) {
	deny := tool.Deny
	for text, want := range map[string][]policy.Rule{
		"*":                        {{Verdict: deny, Tool: "*"}},
		"write_workspace_file":     {{Verdict: deny, Tool: "write_workspace_file"}},
		"write_*:docs/**":          {{Verdict: deny, Tool: "write_*", Path: "docs/**"}, {Verdict: deny, Tool: "write_*", Command: "docs/**"}},
		"*.path:.env":              {{Verdict: deny, Tool: "*", Path: ".env"}},
		"run_shell_command.cmd:rm": {{Verdict: deny, Tool: "run_shell_command", Command: "rm"}},
		"fetch.url:https://a.b/*":  {{Verdict: deny, Tool: "fetch", Arg: "url", Text: "https://a.b/*"}},
		"x:A=b:c":                  {{Verdict: deny, Tool: "x", Path: "A=b:c"}, {Verdict: deny, Tool: "x", Command: "A=b:c"}},
	} {
		got, err := policy.Parse(deny, text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
		if err := (&policy.Policy{Rules: got}).Check(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "a b", "x:", "x.y", "x.y:", ".path:x", ":x", "x\n", "x:a\nb"} {
		if got, err := policy.Parse(deny, text); !errors.Is(err, policy.ErrPattern) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// A pattern without an argument's name is about the path or the command, whichever there is.
func TestParsedRules(t *testing.T) {
	var p policy.Policy
	for verdict, texts := range map[tool.Verdict][]string{tool.Allow: {"write_workspace_file:docs/**", "run_shell_command:git diff *"}, tool.Deny: {"*:docs/secret"}} {
		for _, text := range texts {
			rules, err := policy.Parse(verdict, text)
			if err != nil {
				t.Fatal(err)
			}
			p.Rules = append(p.Rules, rules...)
		}
	}
	write, shell := builtin.All().Find("write_workspace_file"), builtin.All().Find("run_shell_command")
	for _, test := range []struct {
		tool *tool.Tool
		args map[string]string
		want tool.Verdict
	}{
		{write, map[string]string{"path": "docs/a.md"}, tool.Allow},
		{write, map[string]string{"path": "src/a.go"}, tool.Undecided},
		{write, map[string]string{"path": "docs/secret"}, tool.Deny},
		{shell, map[string]string{"cmd": "git diff HEAD"}, tool.Allow},
		{shell, map[string]string{"cmd": "git push"}, tool.Undecided},
	} {
		if got := judge(t, &p, test.tool, test.args); got != test.want {
			t.Errorf("%s %v: %v, want %v", test.tool.Name, test.args, got, test.want)
		}
	}
}

func TestConcerns(t *testing.T) {
	write, code := builtin.All().Find("write_workspace_file"), builtin.All().Find("run_code")
	for _, test := range []struct {
		rule policy.Rule
		tool *tool.Tool
		want bool
	}{
		{policy.Rule{}, code, true},
		{policy.Rule{Tool: "write_*"}, write, true},
		{policy.Rule{Tool: "write_*"}, code, false},
		{policy.Rule{Path: "x"}, write, true},
		{policy.Rule{Path: "x"}, code, false},
		{policy.Rule{Command: "x"}, code, false},
		{policy.Rule{Arg: "content", Text: "x"}, write, true},
	} {
		if got := test.rule.Concerns(test.tool); got != test.want {
			t.Errorf("%+v of %s: %v", test.rule, test.tool.Name, got)
		}
	}
}
