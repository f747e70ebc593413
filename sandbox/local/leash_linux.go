package local

import (
	"os"
	"os/exec"
	"syscall"
)

// newLeash makes the pipe by which a command does not outlive this program, even when it
// is killed and can do nothing about it any more. The program alone holds one end; the
// other, the collar, is inherited by all processes of the command. When the first closes,
// for whatever reason, the kernel signals the owner of the second, which is the command's
// group. (A parent death signal would reach the command's first process only, and would
// come when the thread that started it ends.)
func newLeash(cmd *exec.Cmd, fd int) (leash, collar *os.File, err error) {
	collar, leash, err = os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.ExtraFiles = append(make([]*os.File, fd-3), collar)
	return leash, collar, nil
}

// tie puts the collar on a group. Nothing is written to the pipe, so that there is no
// other signal. Where the kernel refuses, the group merely lives on.
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
