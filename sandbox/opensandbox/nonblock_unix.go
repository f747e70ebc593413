//go:build unix

package opensandbox

import "syscall"

// nonblock has a pipe not hang who opens it.
const nonblock = syscall.O_NONBLOCK
