package npmtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Conform runs the official conformance suite, as far as a revision of the protocol wants
// it, and fails the test if something fails that the file of expected failures does not
// name, or passes that it does. side is "client" or "server", args are the suite's.
func Conform(t *testing.T, side, revision, expected string, env []string, args ...string) {
	t.Helper()
	dir := Install(t, "conformance")
	expected, err := filepath.Abs(expected)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{
		"--import", filepath.Join(dir, "node20.mjs"), filepath.Join(dir, "node_modules/@modelcontextprotocol/conformance/dist/index.js"),
		side, "--requirements", revision, "--expected-failures", expected,
	}
	var out []byte
	for range 2 { // some of it looks at the time, which a busy machine does not keep
		cmd := exec.CommandContext(t.Context(), "node", append(all, args...)...)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), env...)
		if out, err = cmd.CombinedOutput(); err == nil {
			return
		}
	}
	t.Errorf("%v\n%s", err, out)
}
