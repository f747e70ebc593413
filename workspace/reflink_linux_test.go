package workspace_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestForksWhereContentIsShared runs the tests of forks again on file systems that can
// share the content of files.
func TestForksWhereContentIsShared(t *testing.T) {
	for _, kind := range []string{"btrfs", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			at := mountFile(t, kind)
			self, err := os.Executable()
			must(t, err)
			cmd := exec.Command(self, "-test.run", "^(TestForkIsolates|TestForkChain|TestForkIntoDirectory)$/^reflink$", "-test.v")
			cmd.Env = append(os.Environ(), "TMPDIR="+at)
			out, err := cmd.CombinedOutput()
			if err != nil || bytes.Count(out, []byte("--- PASS: Test")) < 3 || bytes.Contains(out, []byte("--- SKIP")) {
				t.Errorf("with files on %s: %v\n%s", kind, err, out)
			}
		})
	}
}
