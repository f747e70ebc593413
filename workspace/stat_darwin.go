package workspace

import (
	"io/fs"
	"syscall"
)

// system fills in what only the system knows of a file.
func (s *stat) system(info fs.FileInfo) {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ctime = sys.Ctimespec.Nano()
		s.inode = sys.Ino
	}
}

const permissions = 0o777
