package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// asUser runs fn with the rights to files of an ordinary user, for the superuser may
// write everything.
func asUser(fn func()) {
	if os.Geteuid() != 0 {
		fn()
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread() // and not unlocked: the thread ends here
		syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		fn()
	})
	wg.Wait()
}

func TestWriteRefusesReadOnly(t *testing.T) {
	s := open(t, nil)
	dir := s.Placement().Spec.WorkingDir
	chmod := func(name string, mode fs.FileMode) {
		t.Helper()
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string) (err error) {
		asUser(func() { err = s.WriteFile(t.Context(), name, []byte(name)) })
		return err
	}
	chmod(".", 0o777)
	for _, name := range []string{"a", "b"} {
		if err := write(name); err != nil {
			t.Fatal(err)
		}
	}
	chmod("a", 0o444)
	chmod("b", 0o200)
	if err := write("a"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("write a file that may only be read: %v", err)
	}
	if err := write("b"); err != nil {
		t.Errorf("write a file that may only be written: %v", err)
	}
	if entries, err := s.List(t.Context(), "."); len(entries) != 2 {
		t.Errorf("something was left behind: %v, %v", entries, err)
	}
}
