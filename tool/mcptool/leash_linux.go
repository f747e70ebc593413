package mcptool

import (
	"os"
	"os/exec"
	"syscall"
)

// start starts a program with a collar: the reading end of a pipe that all its processes
// inherit, whose other end, the leash, this program alone holds. When that closes, even
// because this program is killed, the kernel kills the group, as sandbox/local does it.
func start(cmd *exec.Cmd) (leash *os.File, err error) {
	collar, leash, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer collar.Close()
	cmd.ExtraFiles = []*os.File{collar}
	if err := cmd.Start(); err != nil {
		leash.Close()
		return nil, err
	}
	tie(collar, cmd.Process.Pid)
	return leash, nil
}

// tie puts the collar on a group. Where the kernel refuses, the group merely lives on.
func tie(collar *os.File, group int) {
	for _, set := range [][2]int{
		{syscall.F_SETOWN, -group},
		{syscall.F_SETSIG, int(syscall.SIGKILL)},
		{syscall.F_SETFL, syscall.O_ASYNC},
	} {
		if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, collar.Fd(), uintptr(set[0]), uintptr(set[1])); errno != 0 {
			return
		}
	}
}
