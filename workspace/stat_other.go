//go:build !linux && !darwin

package workspace

import "io/fs"

// system fills in what only the system knows of a file: here there is no time of change
// that programs cannot set, so the time of modification has to do.
func (s *stat) system(info fs.FileInfo) { s.ctime = s.mtime }

// permissions are those that a snapshot takes from here: none that a system made up.
const permissions = 0
