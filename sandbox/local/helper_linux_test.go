package local_test

import (
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or a helper in a process of its own.
func TestMain(m *testing.M) {
	if helper := helpers[os.Getenv(helperEnv)]; helper != nil {
		helper()
		return
	}
	goleak.VerifyTestMain(m)
}

// helperEnv names a helper for the test binary to be, instead of running the tests.
const helperEnv = "RATH_TEST_HELPER"

var helpers = map[string]func(){
	"run": helpRun, "protect": helpProtect, "attack": helpAttack, "loopback": helpLoopback,
}

func helper(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), helperEnv+"="+name), env...)
	cmd.Stderr = os.Stderr
	return cmd
}
