//go:build unix

package docker_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestFilesBelongToTheCaller(t *testing.T) {
	o := options(t, "directory")
	s := open(t, o)
	must(t, s.WriteFile(t.Context(), "d/written", []byte("x")))
	shell(t, s, "echo x >d/made; mkdir sub")
	for _, name := range []string{"d", "d/written", "d/made", "sub"} {
		info, err := os.Stat(filepath.Join(o.Dir, name))
		must(t, err)
		if stat := info.Sys().(*syscall.Stat_t); int(stat.Uid) != os.Getuid() || int(stat.Gid) != os.Getgid() {
			t.Errorf("%s belongs to %d:%d", name, stat.Uid, stat.Gid)
		}
	}
}
