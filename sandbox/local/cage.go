package local

import (
	"os"
	"os/exec"
)

// cage is how a level runs commands.
type cage interface {
	// wrap has a command run inside. The files are for the command alone, and closed once
	// it runs.
	wrap(cmd *exec.Cmd) ([]*os.File, error)
	// prologue is what a shell does inside before anything else.
	prologue() string
	// collar is where the command inherits its end of the leash.
	collar() int
	// start starts a wrapped command.
	start(cmd *exec.Cmd) error
	// environ are the variables that have other values inside.
	environ() []string
	// capable adds what the level keeps commands from.
	capable(*capabilities)
	// end kills what commands have left behind, close lets go of the rest.
	end()
	close()
}

// host runs commands as they are.
type host struct{}

func (host) wrap(*exec.Cmd) ([]*os.File, error) { return nil, nil }
func (host) collar() int                        { return collarFD }
func (host) prologue() string                   { return "" }

func (host) start(cmd *exec.Cmd) error {
	keepFiles()
	return cmd.Start()
}

func (host) environ() []string     { return nil }
func (host) capable(*capabilities) {}
func (host) end()                  {}
func (host) close()                {}
