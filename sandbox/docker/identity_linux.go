package docker

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity is what tells a file from all others of the machine.
func identity(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}
