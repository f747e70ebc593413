package policy

import (
	"slices"
	"strings"
)

// runner is a program that runs the command which it is given as its words.
type runner struct {
	valued string // its short options with a value
	before int    // words before the command
	sets   bool   // NAME=VALUE may come before the command
	more   bool   // it adds words of its own
}

var runners = map[string]runner{
	"builtin": {}, "busybox": {}, "catchsegv": {}, "chronic": {}, "command": {}, "doas": {valued: "uC"}, "env": {valued: "uC", sets: true},
	"exec": {valued: "a"}, "flock": {valued: "wE", before: 1}, "ionice": {valued: "cnpP"}, "nice": {valued: "n"}, "nohup": {}, "setsid": {},
	"stdbuf": {valued: "ioe"}, "sudo": {valued: "ughpCDRrTt", sets: true}, "taskset": {before: 1}, "time": {valued: "fo"},
	"timeout": {valued: "ks", before: 1}, "toybox": {}, "unbuffer": {}, "watch": {valued: "n"}, "xargs": {valued: "adEILnPs", more: true},
}

var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish"}

// inner are the commands that a program is given to run.
func inner(name string, args []string, deep int) []subject {
	if deep <= 0 {
		return []subject{anything}
	}
	r, runs := runners[name]
	switch {
	case runs:
		return r.inner(args, deep)
	case slices.Contains(shells, name):
		return inShell(args, deep)
	case name == "eval":
		return commandsWithin(strings.Join(args, " "), deep)
	case name == "trap" && len(args) > 1:
		return commandsWithin(args[0], deep)
	case name == "find":
		return inFind(args, deep)
	}
	return nil
}

// inner is the command behind the options, as well as that can be told. Rules that forbid
// know it by each of the words that it could begin with.
func (r runner) inner(args []string, deep int) []subject {
	rest := r.skip(args)
	if len(rest) == 0 {
		return suspects(args, deep)
	}
	if r.more {
		rest = append(slices.Clone(rest), string(unseen))
	}
	if strings.ContainsRune(rest[0], unseen) || slices.ContainsFunc(args, splitsText) {
		return []subject{anything}
	}
	all := simple(rest, deep)
	for _, s := range suspects(args, deep) {
		all[0].also = append(all[0].also, s.text)
		all[0].also = append(all[0].also, s.also...)
	}
	return all
}

// splitsText is env's option that has a whole line.
func splitsText(arg string) bool {
	return strings.HasPrefix(arg, "-S") || strings.HasPrefix(arg, "--split-string")
}

// suspects are the commands that begin with some later word, where options are not known
// well enough.
func suspects(args []string, deep int) (all []subject) {
	for i := range args {
		if deep > 1 && !strings.HasPrefix(args[i], "-") {
			s := subject{text: strings.Join(args[i:], " "), allowed: true}
			s.also = []string{s.text[strings.LastIndexByte(args[i], '/')+1:]}
			all = append(all, s)
		}
	}
	return all
}

// skip takes options, assignments and the words before the command away.
func (r runner) skip(args []string) []string {
	before := r.before
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "--":
			return args[min(1+before, len(args)):]
		case strings.HasPrefix(a, "--"), strings.HasPrefix(a, "+"):
			args = args[1:]
		case len(a) > 1 && a[0] == '-':
			args = args[1:]
			if len(a) == 2 && strings.Contains(r.valued, a[1:]) && len(args) > 0 {
				args = args[1:]
			}
		case r.sets && strings.Contains(a, "="):
			args = args[1:]
		case before > 0:
			args, before = args[1:], before-1
		default:
			return args
		}
	}
	return nil
}

// inShell are the commands of a shell's -c. A shell that reads its commands from its input
// could run anything.
func inShell(args []string, deep int) []subject {
	code := false
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "-") && a != "-" && !strings.HasPrefix(a, "--"):
			code = code || strings.Contains(a, "c")
			if strings.HasSuffix(a, "s") {
				return []subject{anything}
			}
		case strings.HasPrefix(a, "--"), strings.HasPrefix(a, "+"):
		case strings.ContainsRune(a, unseen):
			return []subject{anything}
		case code:
			return commandsWithin(a, deep)
		default:
			return nil // a script
		}
	}
	return []subject{anything}
}

// inFind are the commands of find's -exec and the like.
func inFind(args []string, deep int) (all []subject) {
	for i := 0; i < len(args); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, args[i]) {
			continue
		}
		end := i + 1
		for end < len(args) && args[end] != ";" && args[end] != "+" {
			end++
		}
		words := slices.Clone(args[i+1 : end])
		for k, w := range words {
			words[k] = strings.ReplaceAll(w, "{}", string(unseen))
		}
		switch {
		case len(words) == 0 || strings.ContainsRune(words[0], unseen):
			all = append(all, anything)
		default:
			all = append(all, simple(words, deep)...)
		}
		i = end
	}
	return all
}
