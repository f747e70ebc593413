// Package npmtest installs the programs of others that tests of MCP talk to: servers, the
// official inspector and the official conformance suite.
package npmtest

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// locks say which packages there are, to the byte.
//
//go:embed servers inspector conformance
var locks embed.FS

var installing sync.Mutex // two tests must not do the same work

// Install returns the folder with the packages of servers, inspector or conformance, which
// are installed once for all runs of the tests on a machine. Where that is not possible,
// the test is skipped.
func Install(t testing.TB, name string) (dir string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it installs packages")
	}
	installing.Lock()
	defer installing.Unlock()
	dir, err := install(name)
	if err != nil {
		t.Skip(err)
	}
	return dir
}

func install(name string) (string, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", err
		}
	}
	lock, err := fs.ReadFile(locks, name+"/package-lock.json")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "rath-test", "mcp-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, fill(dir, name)
}

// fill makes a folder that is whole when it is there.
func fill(dir, name string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "mcp-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	lock, err := fs.Sub(locks, name)
	if err != nil {
		return err
	}
	if err := os.CopyFS(fresh, lock); err != nil {
		return err
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = fresh
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm cannot install the %s: %w\n%s", name, err, out)
	}
	if err := os.Chmod(fresh, 0o755); err != nil { // a sandbox must see it, too
		return err
	}
	if err := os.Rename(fresh, dir); err != nil && !os.IsExist(err) { // another process was faster
		return err
	}
	return nil
}
