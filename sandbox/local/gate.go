package local

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// collarFD is where a command inherits its end of the leash: above the numbers that
// shell scripts use for files of their own.
const collarFD = 10

// gateFD is where a command that must not begin yet inherits its gate.
const gateFD = 3

// gate holds a command back until it is opened. If the program dies first, the command
// ends without having begun. Until then the command's variables are behind the gate too:
// some of them would have the shell that waits there do things already.
type gate struct {
	in, out *os.File
	script  string // for that shell
}

// newGate puts a gate before a prepared command.
func newGate(cmd *exec.Cmd) (*gate, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	g := &gate{in: in, out: out}
	g.script, cmd.Env = exports(cmd.Env)
	cmd.ExtraFiles[gateFD-3] = in
	wait := `unset RATH_GATE; . /proc/self/fd/3; [ "$RATH_GATE" ] || exit 126; exec 3<&-; unset RATH_GATE; exec "$@"`
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"/bin/sh", "-c", wait, "sh"}, cmd.Args...)
	return g, nil
}

var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fixed are variables that some shells do not let a script set.
var fixed = []string{"UID", "EUID", "PPID", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO"}

// exports makes a shell script of variables, and returns those that it cannot set.
func exports(variables []string) (script string, rest []string) {
	var b strings.Builder
	rest = []string{} // and not the program's own
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		if strings.ContainsRune(v, 0) || !shellName.MatchString(name) || slices.Contains(fixed, name) {
			rest = append(rest, v)
			continue
		}
		b.WriteString("export " + name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'\n")
	}
	return b.String(), rest
}

func (g *gate) open() error {
	_, err := g.out.WriteString(g.script + "RATH_GATE=open\n")
	return errors.Join(err, g.out.Close())
}

func (g *gate) close() {
	if g != nil {
		_ = errors.Join(g.in.Close(), g.out.Close())
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
