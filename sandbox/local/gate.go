package local

import (
	"errors"
	"os"
	"os/exec"
)

// collarFD is where a command inherits its end of the leash: above the numbers that
// shell scripts use for files of their own.
const collarFD = 10

// gateFD is where a command that must not begin yet inherits its gate.
const gateFD = 3

// gate holds a command back until it is opened. If the program dies first, the command
// ends without having begun.
type gate struct{ in, out *os.File }

// newGate puts a gate before a prepared command.
func newGate(cmd *exec.Cmd) (*gate, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles[gateFD-3] = in
	wait := `read -r go <&3 || exit 126; exec 3<&-; unset go; exec "$@"`
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"/bin/sh", "-c", wait, "sh"}, cmd.Args...)
	return &gate{in, out}, nil
}

func (g *gate) open() error {
	_, err := g.out.WriteString("go\n")
	return err
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
