//go:build unix

package sqlite

import (
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// limitFiles keeps this process from writing files larger than that.
func limitFiles(size uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = size
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}

// A write that fails in the middle of the load costs nothing that was acknowledged.
func TestFilesMayNotGrow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rath.db")
	_, notes := task{Path: path, Runs: 4, Room: 1 << 20}.start(t)
	acks, failed := acknowledged{}, 0
	for n := range notes {
		if n.Error == "" {
			acks.add(t, n)
			continue
		}
		if failed++; !strings.HasPrefix(n.Error, "append to run ") && !strings.HasPrefix(n.Error, "renew the lease of run ") || !strings.Contains(n.Error, path) {
			t.Errorf("the error is %s", n.Error)
		}
	}
	if failed == 0 || len(acks) != 4 {
		t.Errorf("%d of %d runs failed", failed, len(acks))
	}
	acks.check(t, path)
}
