//go:build unix

package jsonl

import "syscall"

var errReadOnly error = syscall.EROFS
