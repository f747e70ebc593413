package local

import (
	"os"
	"path/filepath"
)

// Sweep removes what programs that were killed have left of their sandboxes: temporary
// folders, which it returns, and control groups. Opening a sandbox does it too. On systems
// other than Linux there is nothing of that kind.
func Sweep() (folders []string) {
	for _, parent := range counterParents() {
		sweepCounters(parent)
	}
	base, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil // then there are none
	}
	return sweepScratch(base)
}
