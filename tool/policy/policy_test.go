package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
	"github.com/openrath-go/rath/tool/policy"
)

var _ tool.Policy = (*policy.Policy)(nil)

func judge(t *testing.T, p *policy.Policy, x *tool.Tool, args any) tool.Verdict {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	j, err := p.Judge(t.Context(), x, session.Call{ID: "c", Name: x.Name, Arguments: string(data)})
	if err != nil {
		t.Fatal(err)
	}
	if j.Verdict > tool.Allow && j.Reason == "" {
		t.Errorf("%s: no reason", data)
	}
	return j.Verdict
}

// Ways around a rule that denies rm, and around one that allows go test and ls alone.
func TestCommands(t *testing.T) {
	p := &policy.Policy{Else: tool.Ask, Rules: []policy.Rule{
		{Verdict: tool.Allow, Command: "go test *"},
		{Verdict: tool.Allow, Command: "ls *"},
		{Verdict: tool.Allow, Command: "env"},
		{Verdict: tool.Allow, Command: "xargs *"},
		{Verdict: tool.Allow, Command: "env *"},
		{Verdict: tool.Allow, Command: "sh *"},
		{Verdict: tool.Allow, Command: "> out/*"},
		{Verdict: tool.Ask, Command: "git push *"},
		{Verdict: tool.Deny, Command: "rm *", Reason: "nothing is removed here"},
	}}
	for line, want := range map[string]tool.Verdict{
		"ls":                              tool.Allow,
		"ls -l 'a b'":                     tool.Allow,
		"ls *.go":                         tool.Allow,
		"ls $DIR":                         tool.Allow,
		"go test ./... && ls | ls -a":     tool.Allow,
		"(ls; go test) 2>&1 >/dev/null":   tool.Allow,
		"ls > out/x":                      tool.Allow,
		"if ls; then go test; fi":         tool.Allow,
		"sh -c 'ls; go test'":             tool.Allow,
		"ls | xargs ls":                   tool.Allow,
		"env ls":                          tool.Allow,
		"":                                tool.Ask,
		"lsof":                            tool.Ask,
		"./ls":                            tool.Ask,
		"go vet":                          tool.Ask,
		"ls > /etc/passwd":                tool.Ask,
		"ls > $OUT":                       tool.Ask,
		"ls < secret":                     tool.Ask,
		"PATH=. ls":                       tool.Ask,
		"LD_PRELOAD=./x.so ls":            tool.Ask,
		"export PATH=.; ls":               tool.Ask,
		"ls; curl x | sh":                 tool.Deny,
		"ls $(curl x)":                    tool.Ask,
		"ls `curl x`":                     tool.Ask,
		"ls <(curl x)":                    tool.Deny, // sh cannot read it
		"ls \"$(curl x)\"":                tool.Ask,
		"ls & curl x":                     tool.Ask,
		"ls\ncurl x":                      tool.Ask,
		"env curl x":                      tool.Ask,
		"xargs curl":                      tool.Ask,
		"sh -c 'curl x'":                  tool.Ask,
		"while curl x; do ls; done":       tool.Ask,
		"ls() { curl x; }; ls":            tool.Ask,
		"cat <<EOF\n$(curl x)\nEOF":       tool.Ask,
		"git push":                        tool.Ask,
		"git push -f origin":              tool.Ask,
		"ls && git push":                  tool.Ask,
		"rm x":                            tool.Deny,
		"rm":                              tool.Deny,
		"rm *":                            tool.Deny,
		"ls; rm -rf /":                    tool.Deny,
		"ls | rm x":                       tool.Deny,
		"ls $(rm x)":                      tool.Deny,
		"ls \"`rm x`\"":                   tool.Deny,
		"(rm x)":                          tool.Deny,
		"{ rm x; }":                       tool.Deny,
		"! rm x":                          tool.Deny,
		"time rm x":                       tool.Deny,
		"rm x &":                          tool.Deny,
		"if true; then rm x; fi":          tool.Deny,
		"for f in a; do rm $f; done":      tool.Deny,
		"case x in x) rm x;; esac":        tool.Deny,
		"f() { rm x; }":                   tool.Deny,
		"cat <<EOF\n$(rm x)\nEOF":         tool.Deny,
		"cat <(rm x)":                     tool.Deny,
		"[[ -n $(rm x) ]]":                tool.Deny,
		"X=$(rm x)":                       tool.Deny,
		"X=1 rm x":                        tool.Deny,
		"r\\m x":                          tool.Deny,
		"'rm' x":                          tool.Deny,
		"r'm' x":                          tool.Deny,
		"r\"\"m x":                        tool.Deny,
		"\"r\"'m' x":                      tool.Deny,
		"$'rm' x":                         tool.Deny,
		"$'\\x72m' x":                     tool.Deny,
		"r\\\nm x":                        tool.Deny,
		"/bin/rm x":                       tool.Deny,
		"../../bin/rm x":                  tool.Deny,
		"rm${IFS}x":                       tool.Deny,
		"rm$IFS-rf${IFS}x":                tool.Deny,
		"$RM x":                           tool.Deny,
		"r$@m x":                          tool.Deny,
		"${0%h}rm x":                      tool.Deny,
		"$(echo rm) x":                    tool.Deny,
		"{rm,-rf,x}":                      tool.Deny,
		"/bin/r? x":                       tool.Deny,
		"/bin/[r]m x":                     tool.Deny,
		"eval rm x":                       tool.Deny,
		"eval 'r''m' x":                   tool.Deny,
		"eval \"$X\"":                     tool.Deny,
		"eval $(echo cm0geA | base64 -d)": tool.Deny,
		"sh -c 'rm x'":                    tool.Deny,
		"bash -lc \"rm x\"":               tool.Deny,
		"sh -c \"sh -c 'rm x'\"":          tool.Deny,
		"sh -c $X":                        tool.Deny,
		"echo rm x | sh":                  tool.Deny,
		"sh <<< 'rm x'":                   tool.Deny,
		"bash -s x":                       tool.Deny,
		"env rm x":                        tool.Deny,
		"env -i A=b rm x":                 tool.Deny,
		"env -S 'rm x'":                   tool.Deny,
		"/usr/bin/env -u A rm x":          tool.Deny,
		"command rm x":                    tool.Deny,
		"command -p rm x":                 tool.Deny,
		"exec rm x":                       tool.Deny,
		"nohup rm x":                      tool.Deny,
		"nice -n 5 rm x":                  tool.Deny,
		"timeout -s KILL 5 rm x":          tool.Deny,
		"timeout --signal KILL 5 rm x":    tool.Deny,
		"sudo -u me rm x":                 tool.Deny,
		"sudo env A=b nohup rm x":         tool.Deny,
		"busybox rm x":                    tool.Deny,
		"echo x | xargs rm":               tool.Deny,
		"xargs -n 1 rm -f":                tool.Deny,
		"xargs sh -c 'rm $0'":             tool.Deny,
		"find . -exec rm {} \\;":          tool.Deny,
		"find . -execdir /bin/rm {} +":    tool.Deny,
		"find . -exec {} \\;":             tool.Deny,
		"trap 'rm x' EXIT":                tool.Deny,
		"ls '":                            tool.Deny, // it cannot be parsed
		"ls; )":                           tool.Deny,
		"rm\x00 x":                        tool.Deny,
	} {
		if got := judge(t, p, builtin.Shell(), map[string]any{"cmd": line}); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// Lines of which parser and shells, or sh and bash, think differently, and what hides a
// command behind options. "*" allows each of their programs, so that nothing but what cannot
// be told keeps them from being allowed.
func TestUntold(t *testing.T) {
	deny := &policy.Policy{Rules: []policy.Rule{{Verdict: tool.Deny, Command: "rm *"}}}
	allow := &policy.Policy{Else: tool.Ask, Rules: []policy.Rule{{Verdict: tool.Allow, Command: "git diff *"}, {Verdict: tool.Allow, Command: "*"}}}
	for _, line := range []string{
		"git diff; ((rm -r * a))", "((rm -r * a))", "git diff; [[ a > keep1 ]]", "git diff;let 'a[$(rm x)]=1'", "git diff; [[ -v 'a[$(rm x)]' ]]",
		"coproc rm x", "function f { ls; }", "for ((;;)); do ls; done", "ls $((x))", "ls $[x]", "ls <(ls)", "ls &> x", "ls |& cat", "cat <<< x", "a=(b)", "a[0]=b", "ls ${x@P}", "ls ${!x}", "ls ${ ls; }", "declare -n x=y",
		"ls \"$\\\n(rm x)\"", "ls # a \\\nrm x", "ls a\\\r\nrm x", "ls `r\\\\m x`", "{\"rm\",x}", "~ x", "'rm x'", "\"ls /x\"",
		"bash -o $X -c 'ls'", "bash -Z -c 'ls'", "bash --unknown x -c 'ls'", "bash -oc pipefail", "echo x | sh -", "sh /dev/stdin", ". /dev/stdin", "bash --rcfile /dev/stdin -ic ls", "zsh -c 'noglob rm x'", "fish -c 'not rm x'",
		"env -vS'rm x'", "env -S 'ls'", "env $X", "env BASH_ENV=x sh -c ls", "sudo -s", "sudo --unknown ls rm x", "timeout $T ls", "nice -n $N ls", "xargs -I{} {} x", "xargs -I% sh -c %", "find . $X", "watch 'rm x'",
		"chroot . rm x", "unshare rm x", "setpriv rm x", "runuser -u me rm x", "su -c 'rm x'", "script -c 'rm x'", "setarch rm x", "prlimit rm x", "chrt 0 rm x", "strace rm x", "parallel rm ::: x", "systemd-run rm x", "ssh-agent rm x", "alias x=rm\nx y",
		"PS4='$(rm x)'", "BASH_ENV=x ls", "export ENV=x", "read 'a[$(rm x)]'", "printf -v 'a[$(rm x)]' x", "[ -v 'a[$(rm x)]' ]", "hash -p /bin/rm ls", "mapfile -C 'rm x' a",
	} {
		args := map[string]any{"cmd": line}
		if got := judge(t, deny, builtin.Shell(), args); got != tool.Deny {
			t.Errorf("%q: %v, want deny", line, got)
		}
		if got := judge(t, allow, builtin.Shell(), args); got != tool.Ask {
			t.Errorf("%q: %v, want ask", line, got)
		}
	}
}

// Lines in lines in lines take no time that grows with each.
func TestDeepNesting(t *testing.T) {
	p := &policy.Policy{Rules: []policy.Rule{{Verdict: tool.Deny, Command: "rm *"}}}
	if got := judge(t, p, builtin.Shell(), map[string]any{"cmd": strings.Repeat("eval ", 2000) + "ls"}); got != tool.Deny {
		t.Error(got)
	}
}

// Options that are known hide nothing: neither what is forbidden, nor what may run.
func TestToldThroughOptions(t *testing.T) {
	p := &policy.Policy{Else: tool.Ask, Rules: []policy.Rule{{Verdict: tool.Deny, Command: "rm *"}, {Verdict: tool.Allow, Command: "*"}}}
	for _, way := range []string{
		"bash -euo pipefail -c '%s'", "bash -o pipefail -c '%s'", "bash -O extglob -c '%s'", "bash --rcfile x -c '%s'", "bash -co pipefail '%s'", "sh -c - '%s'", "sh -c -- '%s'", "env -C a -u b c=d %s", "env --chdir a %s",
		"timeout --signal KILL 5 %s", "timeout -k5 --foreground 5 %s", "sudo -nu me %s", "nice -n5 %s", "stdbuf -oL -e 0 %s", "xargs -n 1 %s", "xargs -0I{} %s {}", "eval -- '%s'", "trap -- '%s' EXIT", "[ -f x ] && %s", "ls \\\n&& %s", "find . -name '*.go' -exec %s {} +",
	} {
		for command, want := range map[string]tool.Verdict{"rm -rf keep1": tool.Deny, "ls": tool.Allow} {
			line := strings.ReplaceAll(way, "%s", command)
			if got := judge(t, p, builtin.Shell(), map[string]any{"cmd": line}); got != want {
				t.Errorf("%q: %v, want %v", line, got, want)
			}
		}
	}
}

// What the package's documentation says that it does not see.
func TestGaps(t *testing.T) {
	p := &policy.Policy{Rules: []policy.Rule{{Verdict: tool.Deny, Command: "rm -rf *"}}}
	for _, line := range []string{"rm -r -f x", "python3 -c 'import shutil; shutil.rmtree(\"x\")'", "make clean", "sh clean.sh", "git -c alias.x='!rm -rf x' x"} {
		if got := judge(t, p, builtin.Shell(), map[string]any{"cmd": line}); got != tool.Undecided {
			t.Errorf("%q is %v now: change the documentation", line, got)
		}
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"src", "secrets"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "secrets", "key"), []byte("k"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"src/innocent": "../secrets/key", "dir": "secrets", "out": "/etc"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	sb, err := local.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	p := &policy.Policy{Else: tool.Deny, Rules: []policy.Rule{
		{Verdict: tool.Allow, Tool: "*_workspace_*", Path: "src/**"},
		{Verdict: tool.Deny, Path: "secrets/**"},
		{Verdict: tool.Deny, Path: "*.env"},
	}}
	for name, want := range map[string]session.Outcome{
		"src/a.go":                           session.OK,
		"./src/../src/a.go":                  session.OK,
		"src/a.env":                          session.Denied,
		"secrets/key":                        session.Denied,
		"./secrets//key":                     session.Denied,
		"src/../secrets/key":                 session.Denied,
		"src/innocent":                       session.Denied, // a link to the key
		"dir/key":                            session.Denied, // through a link to the folder
		"out/passwd":                         session.Denied, // it leads outside
		"../x":                               session.Denied,
		filepath.Join(dir, "src/b.go"):       session.OK,
		filepath.Join(dir, "secrets", "key"): session.Denied,
		"other":                              session.Denied,
	} {
		got := call(t, p, session.Session{}.To(sb), nil, "write_workspace_file", map[string]any{"path": name, "content": "x"})
		if got.Answer().Outcome != want {
			t.Errorf("%s: %v, want %v: %s", name, got.Answer().Outcome, want, got.Text())
		}
	}
	// Tools that change nothing are judged, too, and a path that is left out is the workspace.
	if got := call(t, p, session.Session{}.To(sb), nil, "read_workspace_file", map[string]any{"path": "dir/key"}); got.Answer().Outcome != session.Denied {
		t.Error(got.Text())
	}
	root := &policy.Policy{Rules: []policy.Rule{{Verdict: tool.Deny, Path: "**"}}}
	if got := call(t, root, session.Session{}.To(sb), nil, "find_workspace_files", map[string]any{"glob": "*"}); got.Answer().Outcome != session.Denied {
		t.Error(got.Text())
	}
}

// call dispatches one call of a built-in tool under a policy.
func call(t *testing.T, p tool.Policy, s session.Session, a tool.Approver, name string, args any) session.Chunk {
	t.Helper()
	data, _ := json.Marshal(args)
	ctx := t.Context()
	if a != nil {
		ctx = tool.WithApprover(ctx, a)
	}
	d := tool.Dispatch{Tools: builtin.All(), Policy: p}
	done, err := d.Run(ctx, s, []session.Call{{ID: "c", Name: name, Arguments: string(data)}})
	if err != nil {
		t.Fatal(err)
	}
	return done[0].Chunk
}

func TestPrecedence(t *testing.T) {
	x := &tool.Tool{Name: "send"}
	all := []policy.Rule{{Verdict: tool.Deny, Tool: "s*"}, {Verdict: tool.Ask, Tool: "*d"}, {Verdict: tool.Allow, Tool: "send"}}
	for n, want := range []tool.Verdict{tool.Deny, tool.Ask, tool.Allow, tool.Undecided} {
		for _, reversed := range []bool{false, true} {
			rules := append([]policy.Rule{}, all[n:]...)
			if reversed {
				for i, k := 0, len(rules)-1; i < k; i, k = i+1, k-1 {
					rules[i], rules[k] = rules[k], rules[i]
				}
			}
			if got := judge(t, &policy.Policy{Rules: rules}, x, map[string]any{}); got != want {
				t.Errorf("%v: %v, want %v", rules, got, want)
			}
		}
	}
	text := &policy.Policy{Rules: []policy.Rule{{Verdict: tool.Deny, Arg: "to", Text: "*@evil.example"}}}
	for to, want := range map[string]tool.Verdict{"a@evil.example": tool.Deny, "a@b.example": tool.Undecided} {
		if got := judge(t, text, x, map[string]any{"to": []string{"x", to}}); got != want {
			t.Errorf("%s: %v", to, got)
		}
	}
	j, _ := text.Judge(t.Context(), x, session.Call{Arguments: "no JSON"})
	if j.Verdict != tool.Deny {
		t.Error(j)
	}
}

func TestCheck(t *testing.T) {
	bad := &policy.Policy{Rules: []policy.Rule{
		{}, {Verdict: tool.Allow, Path: "a", Command: "b"}, {Verdict: tool.Allow, Arg: "a"}, {Verdict: tool.Allow, Text: "a"},
	}}
	err := bad.Check()
	for i := range bad.Rules {
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint("rule ", i)) {
			t.Errorf("rule %d: %v", i, err)
		}
	}
	good := &policy.Policy{Else: tool.Ask, Rules: []policy.Rule{{Verdict: tool.Allow, Command: "ls *"}}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	var back policy.Policy
	if err := json.Unmarshal([]byte(good.String()), &back); err != nil || back.String() != good.String() {
		t.Errorf("%v, %s", err, good)
	}
}

// A line that nobody has thought of neither panics nor is allowed for what is not in it.
func FuzzCommands(f *testing.F) {
	for _, line := range []string{"ls", "rm x", "a $(b `c`) {d,e} <(f)", "env -S x", "timeout -- 5", "find . -exec", "xargs -I", "<<<"} {
		f.Add(line)
	}
	p := &policy.Policy{Else: tool.Ask, Rules: []policy.Rule{{Verdict: tool.Allow, Command: "ls *"}, {Verdict: tool.Deny, Command: "rm *"}}}
	f.Fuzz(func(t *testing.T, line string) {
		got := judge(t, p, builtin.Shell(), map[string]any{"cmd": line})
		if got == tool.Allow && !strings.Contains(unquoted.Replace(line), "ls") {
			t.Errorf("%q is allowed", line)
		}
	})
}

var unquoted = strings.NewReplacer(`\`+"\n", "", `\`, "", `'`, "", `"`, "", "$", "")

func ExamplePolicy() {
	p := &policy.Policy{
		Rules: []policy.Rule{
			{Verdict: tool.Allow, Tool: "read_*"},
			{Verdict: tool.Allow, Tool: "run_shell_command", Command: "go test *"},
			{Verdict: tool.Deny, Path: "secrets/**", Reason: "these are not for you"},
		},
		Else: tool.Ask,
	}
	for _, call := range []session.Call{
		{Name: "read_workspace_file", Arguments: `{"path":"main.go"}`},
		{Name: "read_workspace_file", Arguments: `{"path":"src/../secrets/key"}`},
		{Name: "run_shell_command", Arguments: `{"cmd":"go test ./... | cat"}`},
	} {
		j, err := p.Judge(context.Background(), builtin.All().Find(call.Name), call)
		fmt.Println(j.Verdict, j.Reason, err)
	}
	// Output:
	// allow  <nil>
	// deny these are not for you <nil>
	// ask no rule allows it <nil>
}

var errAsked = errors.New("asked")

// As an approver, a policy spares questions and refuses what nobody needs to be asked about.
func TestApprover(t *testing.T) {
	p := &policy.Policy{Rules: []policy.Rule{
		{Verdict: tool.Allow, Command: "ls"}, {Verdict: tool.Ask, Command: "git *"}, {Verdict: tool.Deny, Command: "rm *"},
	}}
	ask := func(context.Context, *tool.Tool, session.Call) (tool.Decision, error) {
		return tool.Decision{}, errAsked
	}
	edit := func(context.Context, *tool.Tool, session.Call) (tool.Decision, error) {
		return tool.Decision{Allow: true, Arguments: `{"cmd":"rm x"}`}, nil
	}
	for _, test := range []struct {
		line  string
		next  tool.Approver
		allow bool
		err   error
	}{
		{"ls", ask, true, nil}, {"ls", nil, true, nil},
		{"git x", ask, false, errAsked}, {"git x", nil, false, nil}, {"git x", edit, false, nil},
		{"rm x", ask, false, nil}, {"cat x", ask, false, errAsked}, {"cat x", nil, true, nil}, {"cat x", tool.AllowAll, true, nil},
	} {
		args, _ := json.Marshal(map[string]string{"cmd": test.line})
		d, err := tool.Judged(p, test.next)(t.Context(), builtin.Shell(), session.Call{Arguments: string(args)})
		if d.Allow != test.allow || !errors.Is(err, test.err) || !d.Allow && err == nil && d.Reason == "" {
			t.Errorf("%s: %+v, %v", test.line, d, err)
		}
	}
}
