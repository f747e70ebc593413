package policy

import (
	"regexp"
	"slices"
	"strings"
)

// runner is a program that runs the command which it is given as its words, behind options.
type runner struct {
	options options // those that are known; any other could change what runs
	before  int     // words before the command
	sets    bool    // NAME=VALUE may come before the command
	more    bool    // it adds words of its own, or puts them in the place of one
}

var runners = map[string]runner{
	"builtin":   {},
	"busybox":   {},
	"catchsegv": {},
	"chronic":   {options: "ev"},
	"command":   {options: "pvV"},
	"doas":      {options: "nC:u:"},
	"env":       {options: "0ivC:u: chdir: debug ignore-environment null unset:", sets: true},
	"exec":      {options: "cla:"},
	"flock":     {options: "eFnosuxE:w: close conflict-exit-code: exclusive nb no-fork nonblock shared timeout: unlock verbose wait:", before: 1},
	"ionice":    {options: "tc:n:p:P:u: class: classdata: ignore"},
	"nice":      {options: "n: adjustment:"},
	"nohup":     {},
	"setsid":    {options: "cfw ctty fork wait"},
	"stdbuf":    {options: "e:i:o: error: input: output:"},
	"sudo":      {options: "AbEHknPSC:D:g:h:p:R:r:T:t:U:u: askpass background chdir: group: host: non-interactive preserve-env prompt: set-home stdin user:", sets: true},
	"taskset":   {options: "ac all-tasks cpu-list", before: 1},
	"time":      {options: "apqvf:o: append format: output: portability quiet verbose"},
	"timeout":   {options: "vk:s: foreground kill-after: preserve-status signal: verbose", before: 1},
	"toybox":    {},
	"unbuffer":  {options: "p"},
	"xargs":     {options: "0oprtxa:d:E:I:L:n:P:s: arg-file: delimiter: exit interactive max-args: max-chars: max-procs: no-run-if-empty null open-tty verbose", more: true},
}

// opaque are commands of which nothing is told from their words: they run what those do not
// plainly say, or have later words mean something else.
var opaque = strings.Fields(`
	alias bind compgen complete coproc declare enable fc hash let mapfile nameref readarray typeset
	at batch bwrap capsh chroot chrt cpulimit crontab daemonize dbus-run-session dtach eatmydata entr expect
	fakechroot fakeroot firejail gdb hyperfine linux32 linux64 ltrace newgrp nsenter numactl parallel perf pkexec
	prlimit proot proxychains proxychains4 rlwrap runuser run-parts screen script setarch setpriv sg socat
	ssh-agent start-stop-daemon strace su systemd-inhibit systemd-run tmux torsocks tsocks unshare valgrind
	watch watchexec xvfb-run`)

// inner are the commands that a program is given to run.
func inner(name string, args []string, deep int) []subject {
	r, runs := runners[name]
	switch {
	case deep <= 0 || slices.Contains(opaque, name) || subscripts(name, args):
		return []subject{anything}
	case runs:
		return r.inner(args, deep)
	case slices.Contains(shells, name):
		return inShell(args, deep)
	case slices.Contains(otherShells, name):
		return inOtherShell(args)
	case name == "." || name == "source":
		return inScript(args)
	case name == "eval":
		return inEval(args, deep)
	case name == "trap":
		return inTrap(args, deep)
	case name == "find":
		return inFind(args, deep)
	}
	return nil
}

// inner is the command behind the options. It is told for sure or not at all.
func (r runner) inner(args []string, deep int) []subject {
	rest, given, ok := r.options.skip(args)
	for r.sets && ok && len(rest) > 0 && strings.Contains(rest[0], "=") {
		name, _, _ := strings.Cut(rest[0], "=")
		ok = !isUnseen(rest[0]) && plain.MatchString(name) && !slices.Contains(evaluated, name)
		rest = rest[1:]
	}
	if !ok || slices.ContainsFunc(rest[:min(r.before, len(rest))], isUnseen) {
		return []subject{anything}
	}
	if rest = rest[min(r.before, len(rest)):]; len(rest) == 0 {
		return nil
	}
	if rest[0][:min(1, len(rest[0]))] == "-" { // an option where there should be none
		return []subject{anything}
	}
	if r.more {
		rest = append(replaced(rest, given["I"]), string(unseen))
	}
	return simple(rest, deep)
}

// plain is a variable's name. Of env, functions can come by others.
var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func isUnseen(word string) bool { return strings.ContainsRune(word, unseen) }

// replaced are words in which something cannot be told.
func replaced(words []string, something string) []string {
	words = slices.Clone(words)
	for i, w := range words {
		if something != "" {
			words[i] = strings.ReplaceAll(w, something, string(unseen))
		}
	}
	return words
}

// named are the builtins that take names of variables, and the option which makes them do so.
var named = map[string]string{
	"[": "-v", "test": "-v", "printf": "-v", "wait": "-p",
	"export": "", "getopts": "", "local": "", "read": "", "readonly": "", "unset": "",
}

// subscripts reports whether bash could run what stands in a subscript of a name:
// test -v 'a[$(rm x)]'.
func subscripts(builtin string, args []string) bool {
	option, ok := named[builtin]
	if !ok || option != "" && !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, option) }) {
		return false
	}
	return slices.ContainsFunc(args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return strings.ContainsAny(name, "["+string(unseen))
	})
}

// inEval are the commands of a line that is made of words.
func inEval(args []string, deep int) []subject {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	return commandsWithin(strings.Join(args, " "), deep)
}

// inTrap are the commands for a signal. With a word alone, or an option, there are none.
func inTrap(args []string, deep int) []subject {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) < 2 {
		return nil
	}
	return commandsWithin(args[0], deep)
}

// inFind are the commands of find's -exec and the like. A word that cannot be told could be
// one of those.
func inFind(args []string, deep int) (all []subject) {
	if slices.ContainsFunc(args, isUnseen) {
		return []subject{anything}
	}
	for i := 0; i < len(args); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, args[i]) {
			continue
		}
		end := i + 1
		for end < len(args) && args[end] != ";" && args[end] != "+" {
			end++
		}
		if words := replaced(args[i+1:end], "{}"); len(words) == 0 {
			all = append(all, anything)
		} else {
			all = append(all, simple(words, deep)...)
		}
		i = end
	}
	return all
}
