//go:build unix

package cli

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// What is no file is not opened: it may have no end, or never begin.
func TestImagesOfNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"/dev/zero", pipe} {
		if _, err := images([]string{file}); !errors.Is(err, errNoFile) || hintOf(err) == "" {
			t.Errorf("%s: %v", file, err)
		}
	}
}
