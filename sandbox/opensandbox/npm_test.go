//go:build unix

package opensandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openrath-go/rath/sandbox/opensandbox/contract"
)

// TestOfficialClient has the official client use the contract server, so that this cannot
// drift to suit ours.
func TestOfficialClient(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs packages")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "client.mjs"} {
		data, err := os.ReadFile(filepath.Join("testdata", "npm", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install the client: %v\n%s", err, out)
	}
	for _, how := range []string{"direct", "proxy"} {
		t.Run(how, func(t *testing.T) {
			s := serve(t, &contract.Options{APIKey: "right", Start: 100 * time.Millisecond})
			cmd := exec.CommandContext(t.Context(), "node", "client.mjs", strings.TrimPrefix(s.URL(), "http://"), "right", how)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "all right") {
				t.Errorf("%v\n%s\nthe requests:\n%s", err, out, strings.Join(s.Seen(), "\n"))
			}
		})
	}
}
