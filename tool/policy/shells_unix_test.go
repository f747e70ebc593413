//go:build unix

package policy_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
	"github.com/openrath-go/rath/tool/policy"
)

// around are ways to have a command run, or to seem to.
var around = []string{
	"%s", "%s; ls", "ls; %s", "ls && %s", "ls || %s", "ls | %s", "ls |& %s", "%s &\nwait", "! %s", "(%s)", "((%s))", "( (%s))", "(\\\n(%s))", "{ %s; }", "{ %s\n}",
	"if %s; then ls; fi", "if ls; then %s; fi", "for i in a; do %s; done", "for i in a; { %s; }", "for ((i=0;i<1;i++)); do %s; done",
	"until %s; do break; done", "while %s; do break; done", "case x in x) %s;; esac", "case x in x) ls;& y) %s;; esac", "select i in a; do %s; done",
	"f() { unset -f f; %s; }; f", "function f { unset -f f; %s; }; f", "function f() { unset -f f; %s; }; f", "ls() { unset -f ls; %s; }; ls x", "f() (unset -f f; %s); f",
	"ls $(%s)", "ls \"$(%s)\"", "ls `%s`", "ls \"`%s`\"", "ls $\\\n(%s)", "ls \"$\\\n(%s)\"", "ls \"\\$(%s)\"", "ls '$(%s)'", "ls \\`%s\\`",
	"ls <(%s)", "ls >(%s)", "ls ${x:-$(%s)}", "ls ${x:=`%s`}", "ls ${ %s; }", "ls ${x:0:$(%s)}", "ls <<E\n$(%s)\nE", "ls <<'E'\n$(%s)\nE", "ls <<E\n`%s`\nE", "ls <<-E\n\tE\n%s", "ls <<E\na\\\nE\n%s\nE",
	"ls # a \\\n%s", "ls a#b\n%s", "ls a\\\r\n%s", "ls\\\n;%s", "ls \\\n%s", "x='%s'; $x", "x='%s'; eval \"$x\"", "set -- %s; \"$@\"",
	"((x=1)); %s", "let x=1; %s", "let 'a[$(%s)]=1'", "(( a[$(%s)] ))", "ls $((a[$(%s)]))", "ls $[a[$(%s)]]", "x='a[$(%s)]'; ls $((x))", "a[$(%s)]=1", "a=($(%s))", "x=$(%s)", "x=$(%s) ls", "export x=$(%s)", "export 'a[$(%s)]=1'", "readonly 'a[$(%s)]=1'",
	"declare -i 'x=a[$(%s)]'", "typeset 'a[$(%s)]=1'", "[[ -n $(%s) ]]", "[[ -v 'a[$(%s)]' ]]", "[[ 'a[$(%s)]' -eq 1 ]]", "[ -n \"$(%s)\" ]", "[ -v 'a[$(%s)]' ]", "test -v 'a[$(%s)]'", "printf -v 'a[$(%s)]' x",
	"read 'a[$(%s)]' </dev/null", "echo 1 | read 'a[$(%s)]'", "unset 'a[$(%s)]'", "ls & wait -n -p 'a[$(%s)]'", "mapfile -C '%s #' -c 1 a <<<x", "x='$(%s)'; ls \"${x@P}\"", "PS4='$(%s)'; set -x; ls", "PS4='$(%s)' sh -xc ls", "env 'PS4=$(%s)' sh -xc ls",
	"ENV='$(unset ENV; %s)' sh -ic ls", "BASH_ENV='$(unset BASH_ENV; %s)' bash -c ls", "env 'BASH_ENV=$(unset BASH_ENV; %s)' bash -c ls", "env 'BASH_FUNC_ls%%%%=() { unset -f ls; %s; }' bash -c 'ls x'",
	"eval '%s'", "eval -- '%s'", "eval ls ';' '%s'", "trap '%s' EXIT", "trap -- '%s' EXIT", "alias y='%s'\ny", "alias ls='%s'\nls", "shopt -s expand_aliases\nalias y='%s'\ny", "coproc %s", "coproc ls { %s; }", "time %s", "time -p %s", "command %s", "builtin eval '%s'", "exec %s", "exec -a ls %s", "(exec -c -- %s)",
	"sh -c '%s'", "sh -ec '%s'", "sh -c -- '%s'", "sh -c - '%s'", "sh - -c '%s'", "sh -c -e '%s'", "sh -o errexit -c '%s'", "sh -co errexit '%s'", "sh +x -c '%s'", "echo '%s' | sh", "echo '%s' | sh -", "echo '%s' | sh -s ls", "echo '%s' | sh /dev/stdin", "echo '%s' | . /dev/stdin", "sh <<E\n%s\nE",
	"bash -euo pipefail -c '%s'", "bash -o pipefail -c '%s'", "bash -oc pipefail '%s'", "bash -O extglob -c '%s'", "bash --norc -c '%s'", "bash --rcfile ls -c '%s'", "bash +O extglob -c '%s'", "bash -c 'source /dev/stdin' <<< '%s'", "bash --init-file ls -c '%s'", "bash --posix -lc '%s'",
	"env %s", "env -i %s", "env - %s", "env -u ls %s", "env -C . %s", "env --chdir . %s", "env -vS'%s'", "env -S '%s'", "env --split-string '%s'", "env x=1 %s", "env -- %s",
	"nice %s", "nice -5 %s", "nice -n 5 %s", "nohup %s", "timeout 5 %s", "timeout -k 1 5 %s", "timeout --sig KILL 5 %s", "setsid -w %s", "stdbuf -oL %s", "flock ls %s", "flock ls -c '%s'", "busybox %s", "busybox sh -c '%s'", "busybox env %s",
	"echo x | xargs %s", "echo %s | xargs env", "echo '%s' | xargs -I{} sh -c '{}'", "echo '%s' | xargs -I ls sh -c ls", "echo x | xargs -n 1 %s", "echo x | xargs --max-args 1 %s", "echo x | xargs -ix %s", "echo '%s' | xargs -d '\\n' sh -c",
	"find . -maxdepth 0 -exec %s \\;", "find . -maxdepth 0 -ok %s \\;", "x='-exec %s ;'; find . -maxdepth 0 $x", "find . -maxdepth 0 -exec sh -c '%s' \\;",
	"unshare %s", "setpriv %s", "chroot / %s", "setarch -R %s", "prlimit %s", "chrt -o 0 %s", "script -qc '%s' /dev/null", "hash -p \"$PWD/../bin/rm\" ls; ls", "HOME=$PWD/../bin/rm; ~ x", "watch -x %s",
}

// what runs rm, in the end or not at all.
var what = []string{
	"rm x", "'rm' x", "r\\m x", "r\\\nm x", "r\"\"m x", "{rm,x}", "{\"rm\",x}", "{'rm',\"x\"}", "$'rm' x", "$\"rm\" x", "$'\\162m' x", "rm", "../bin/rm x", "r? x", "~/rm x",
	"ls", "ls rm", "\"ls rm\"", "ls >rm", "rm=ls", "x=rm ls", "rm -r * a", "a > keep", "[[ a > keep ]]", "ls 2>&1", "r\\\\m x", "rm\r",
}

// bench has a folder with programs, of which rm does nothing but leave a mark, and one to
// work in.
type bench struct {
	dir    string
	shells []string
}

func newBench(t *testing.T) *bench {
	b := &bench{dir: t.TempDir()}
	for _, d := range []string{"bin", "work"} {
		if err := os.Mkdir(filepath.Join(b.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"rm": ": >" + b.dir + "/mark", "ls": ":"} {
		if err := os.WriteFile(filepath.Join(b.dir, "bin", name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range strings.Fields("sh bash dash busybox env nice nohup timeout setsid stdbuf flock xargs find cat unshare setpriv setarch prlimit chrt") {
		if file, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(file, filepath.Join(b.dir, "bin", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"sh", "bash", "dash"} {
		if _, err := os.Stat(filepath.Join(b.dir, "bin", name)); err == nil {
			b.shells = append(b.shells, name)
		}
	}
	if len(b.shells) == 0 {
		t.Skip("there is no shell")
	}
	return b
}

// run has every shell run a line, and reports which of them ran rm, and which left a file.
func (b *bench) run(t *testing.T, line string) (removed, wrote []string) {
	work, mark := filepath.Join(b.dir, "work"), filepath.Join(b.dir, "mark")
	for _, name := range b.shells {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		c := exec.CommandContext(ctx, filepath.Join(b.dir, "bin", name), "-c", line)
		c.Dir, c.Env, c.WaitDelay = work, []string{"PATH=" + b.dir + "/bin", "HOME=" + b.dir + "/bin"}, 100*time.Millisecond
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
		c.Run() // most fail; what counts is what they leave
		cancel()
		if os.Remove(mark) == nil {
			removed = append(removed, name)
		}
		left, err := os.ReadDir(work)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range left {
			wrote = append(wrote, name+": "+e.Name())
			if err := os.RemoveAll(filepath.Join(work, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return removed, wrote
}

// lines are each way with each command in it, and some with ways in ways.
func lines(ways int) (all []string) {
	into := func(way, inner string) string {
		if strings.Contains(way, "'%s") {
			inner = strings.ReplaceAll(inner, "'", `'\''`)
		}
		return fmt.Sprintf(strings.ReplaceAll(way, "%s", "%[1]s"), inner)
	}
	for i, way := range around {
		all = append(all, into(way, what[0]), into(way, what[1+i%(len(what)-1)]))
	}
	all = append(all, what...)
	r := rand.New(rand.NewPCG(1, 2))
	for range ways {
		line := what[r.IntN(len(what))]
		for range 2 + r.IntN(2) {
			line = into(around[r.IntN(len(around))], line)
		}
		all = append(all, line)
	}
	return all
}

// Real shells are the judges of the judge: where one of them runs rm, a rule that denies it
// denies the line; and what a rule allows for another program's sake neither runs rm nor
// writes a file, even with all the programs allowed that run others.
func TestShells(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts some thousand processes")
	}
	b := newBench(t)
	deny := &policy.Policy{Rules: []policy.Rule{{Verdict: tool.Deny, Command: "rm *"}}}
	allow := &policy.Policy{Else: tool.Ask}
	for _, name := range strings.Fields("ls echo env exec eval command nice nohup timeout setsid stdbuf xargs find sh bash busybox trap printf test [ read unset export readonly set . x=* rm=* y=*") {
		allow.Rules = append(allow.Rules, policy.Rule{Verdict: tool.Allow, Command: name}, policy.Rule{Verdict: tool.Allow, Command: name + " *"})
	}
	ran, allowed := 0, 0
	for _, line := range lines(100) {
		args := map[string]any{"cmd": line}
		denies, allows := judge(t, deny, builtin.Shell(), args), judge(t, allow, builtin.Shell(), args)
		removed, wrote := b.run(t, line)
		if len(removed) > 0 {
			ran++
		}
		if allows == tool.Allow {
			allowed++
		}
		if len(removed) > 0 && denies != tool.Deny {
			t.Errorf("%q is not denied, and %v run rm", line, removed)
		}
		if allows == tool.Allow && len(removed)+len(wrote) > 0 {
			t.Errorf("%q is allowed: rm is run by %v, and there is %v", line, removed, wrote)
		}
	}
	if ran < 100 || allowed < 20 {
		t.Errorf("only %d lines ran rm, and %d were allowed", ran, allowed)
	}
	t.Logf("%d lines ran rm, %d were allowed", ran, allowed)
}
