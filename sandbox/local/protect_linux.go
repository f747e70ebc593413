package local

import (
	"os"
	"syscall"
)

// ProtectEnviron keeps the program's environment and memory, with the keys in them, from
// other processes of the same user: a command could otherwise read them in
// /proc/PID/environ. A program that runs commands for a model calls it when it starts.
//
// It holds for the whole process and not for the commands, leaves no core dump, and lets
// no debugger attach. The superuser still reads everything. On systems other than Linux
// it does nothing.
func ProtectEnviron() error {
	_, _, errno := syscall.Syscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("prctl PR_SET_DUMPABLE", errno)
	}
	return nil
}
