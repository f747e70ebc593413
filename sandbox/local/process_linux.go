package local

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// enter opens a command's folder and has it start there: the name could lead elsewhere by
// then. The folder is closed once the command runs.
func (b *box) enter(cmd *exec.Cmd) (*os.File, error) {
	name, err := filepath.Rel(b.dir, cmd.Dir)
	if err != nil {
		return nil, err
	}
	dir, err := b.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err == nil {
		cmd.Dir = fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	}
	return dir, err
}

// killMarked kills every process whose environment holds the mark, until none is left:
// while it looks, more may be born. One that has wiped its environment is found by its process group alone.
func killMarked(mark string) {
	for range 100 {
		if !killOnce([]byte(mark)) {
			return
		}
		time.Sleep(time.Millisecond) // for the dying to be gone
	}
}

func killOnce(mark []byte) (found bool) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is sound
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !holds(env, mark) {
			continue // another user's, or gone
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && pid != os.Getpid() {
			found = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return found
}

func holds(env, mark []byte) bool {
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(v, mark) {
			return true
		}
	}
	return false
}
