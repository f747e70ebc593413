//go:build unix

package workspace

import "syscall"

// nonBlocking keeps an open from waiting, if a pipe took the place of a file.
const nonBlocking = syscall.O_NONBLOCK
