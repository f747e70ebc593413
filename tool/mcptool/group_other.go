//go:build !unix

package mcptool

import "os/exec"

// own leaves the default: the program itself is killed, its children are not.
func own(*exec.Cmd) {}

func terminateGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
