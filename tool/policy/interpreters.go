package policy

import (
	"slices"
	"strings"
)

// shells read lines as sh or as bash does; otherShells have languages of their own.
var (
	shells      = strings.Fields("sh bash dash ash ksh mksh rbash")
	otherShells = strings.Fields("csh elvish fish nu powershell pwsh rc tcsh xonsh zsh")
)

// shellOptions are those of all shells. With -s, commands come from the input.
const shellOptions options = "abefhiklmnprtuvxBCDEHPTcO;o; debugger init-file: login noediting noprofile norc posix rcfile: restricted verbose"

// inShell are the commands of a shell's -c. A shell that reads its commands from its input
// could run anything.
func inShell(args []string, deep int) []subject {
	rest, given, ok := shellOptions.skip(args)
	if ok && len(rest) > 0 && rest[0] == "-" { // it ends the options, too
		rest = rest[1:]
	}
	_, code := given["c"]
	switch {
	case !ok || len(rest) == 0 || isInput(given["rcfile"]) || isInput(given["init-file"]) || strings.HasPrefix(rest[0], "+"):
		return []subject{anything}
	case code:
		return commandsWithin(rest[0], deep)
	}
	return inScript(rest)
}

// inOtherShell knows scripts alone.
func inOtherShell(args []string) []subject {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return []subject{anything}
	}
	return inScript(args)
}

// inScript is nothing that a line could tell, unless the script is the input.
func inScript(args []string) []subject {
	if slices.ContainsFunc(args[:min(1, len(args))], func(name string) bool { return isUnseen(name) || isInput(name) }) {
		return []subject{anything}
	}
	return nil
}

// isInput reports whether a file could be what a line has for its commands to read.
func isInput(name string) bool {
	return strings.Contains(name, "/dev/") || strings.Contains(name, "/proc/")
}
